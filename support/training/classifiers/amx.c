/* The two large products of a step on the matrix unit of an x86 processor (AMX, bfloat16). `amx` explains the layouts. */

#include <immintrin.h>
#include <stdint.h>

/* Splits x (rows, columns) of float32, with `stride` floats from row to row, into tiles of three bfloat16 parts.

   tiles[columns / 16][padded / 32][3][16][16][2]: two rows that follow each other lie side by side. Rows from `rows` to
   `padded` count as 0. */
void split(const float *x, long rows, long padded, long columns, long stride, uint16_t *tiles) {
    for (long c = 0; c < columns; c += 16)
        for (long r = 0; r < padded; r += 2) {
            const __m512 none = _mm512_setzero_ps();
            __m512 even = r < rows ? _mm512_loadu_ps(x + r * stride + c) : none;
            __m512 odd = r + 1 < rows ? _mm512_loadu_ps(x + (r + 1) * stride + c) : none;
            uint16_t *tile = tiles + (c / 16 * (padded / 32) + r / 32) * 1536 + r % 32 * 16;
            for (int part = 0; part < 3; part++) {
                __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
                __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd)), 16);
                even = _mm512_sub_ps(even, _mm512_castsi512_ps(_mm512_slli_epi32(low, 16)));
                odd = _mm512_sub_ps(odd, _mm512_castsi512_ps(high));
                _mm512_storeu_si512(tile + part * 512, _mm512_or_si512(low, high));
            }
        }
}

/* out (16 m, 16 n) of float32, with `stride` floats from row to row, += bytes @ parts; m and n are even.

   bytes[m][k][16][32] bfloat16; parts[n][k][3][512] from `split`. Four tiles of `out` stay in the unit. */
void multiply(const uint16_t *bytes, const uint16_t *parts, long m, long n, long k, float *out, long stride) {
    uint8_t shape[64] = {1};  /* palette 1: each of eight tiles has 16 rows of 64 bytes */
    for (int t = 0; t < 8; t++) shape[16 + 2 * t] = 64, shape[48 + t] = 16;
    _tile_loadconfig(shape);
    for (long block = 0; block < n; block += 8)  /* so many columns of parts stay in the second cache */
        for (long i = 0; i < m; i += 2)
            for (long j = block; j < n && j < block + 8; j += 2) {
                float *corner = out + 16 * i * stride + 16 * j;
                const uint16_t *upper = bytes + i * k * 512, *lower = upper + k * 512;
                const uint16_t *left = parts + j * k * 1536, *right = left + k * 1536;
                _tile_loadd(0, corner, 4 * stride);
                _tile_loadd(1, corner + 16, 4 * stride);
                _tile_loadd(2, corner + 16 * stride, 4 * stride);
                _tile_loadd(3, corner + 16 * stride + 16, 4 * stride);
                for (long l = 0; l < k; l++, upper += 512, lower += 512) {
                    _tile_loadd(4, upper, 64);
                    _tile_loadd(5, lower, 64);
                    for (int part = 0; part < 3; part++, left += 512, right += 512) {
                        _tile_loadd(6, left, 64);
                        _tile_dpbf16ps(0, 4, 6);
                        _tile_dpbf16ps(2, 5, 6);
                        _tile_loadd(7, right, 64);
                        _tile_dpbf16ps(1, 4, 7);
                        _tile_dpbf16ps(3, 5, 7);
                    }
                }
                _tile_stored(0, corner, 4 * stride);
                _tile_stored(1, corner + 16, 4 * stride);
                _tile_stored(2, corner + 16 * stride, 4 * stride);
                _tile_stored(3, corner + 16 * stride + 16, 4 * stride);
            }
    _tile_release();
}
