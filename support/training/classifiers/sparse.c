/* The two large products of a step without most of the zeros of the images. `sparse` explains the layout. */

#include <stdint.h>

#ifdef __AVX512F__
#define LANES 16  /* floats in a vector */
#else
#define LANES 8
#endif
#define SIDE (2 * LANES)  /* columns that are computed together: two vectors for each row of a team */
#define TEAM 6            /* rows that are computed together */

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4)));

/* out (., columns) = from + bytes @ x for the rows of the teams, with `stride` floats from row to row of out.

   Team t has the entries starts[t] to starts[t + 1]: a row `index` of x and a factor for each of its six rows. Its rows
   of out are rows[6 t] to rows[6 t + 5]; a negative one is none. from: a row that is added to each (bias), or null for
   out itself, to which the sum is added as a whole, so that sums over many chunks keep their digits. pack has room for
   (length, SIDE): SIDE columns of x side by side, which then stay in the second cache. */
void multiply(const int32_t *starts, const uint16_t *index, const float *factors, const int32_t *rows, long teams,
              const float *x, long length, long x_stride, long columns, const float *from, float *out, long stride,
              float *pack) {
    for (long c = 0; c < columns; c += SIDE) {
        for (long k = 0; k < length; k++)
            for (int v = 0; v < SIDE; v += LANES)
                *(vector *)(pack + k * SIDE + v) = *(const vector *)(x + k * x_stride + c + v);
        for (long t = 0; t < teams; t++) {
            vector sum[TEAM][2] = {0};
            const float *factor = factors + (long)starts[t] * TEAM;
            for (long e = starts[t]; e < starts[t + 1]; e++, factor += TEAM) {
                const float *row = pack + (long)index[e] * SIDE;
                const vector left = *(const vector *)row, right = *(const vector *)(row + LANES);
                for (int i = 0; i < TEAM; i++) {
                    sum[i][0] += factor[i] * left;
                    sum[i][1] += factor[i] * right;
                }
            }
            for (int i = 0; i < TEAM; i++)
                if (rows[t * TEAM + i] >= 0)
                    for (int v = 0; v < 2; v++) {
                        vector *to = (vector *)(out + rows[t * TEAM + i] * stride + c + v * LANES);
                        *to = sum[i][v] + *(from ? (const vector *)(from + c + v * LANES) : to);
                    }
        }
    }
}
