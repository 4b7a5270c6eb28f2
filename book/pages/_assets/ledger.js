// The filters and the order of the ledger page. Without this script the page shows every claim.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.filters");
  if (!form) return;
  const order = form.elements.order;
  const selects = [...form.querySelectorAll("select")].filter(s => s !== order);
  const entries = [...document.querySelectorAll(".claims > :is(article, h2)")]; // as in the book
  const cards = entries.filter(e => e.id), heads = entries.filter(e => !e.id);
  const verdicts = [...form.elements.verdict.options].map(o => o.value);
  const orders = {
    verdict: (a, b) => verdicts.indexOf(a.dataset.verdict) - verdicts.indexOf(b.dataset.verdict),
    id: (a, b) => a.id.localeCompare(b.id, "en", { numeric: true }),
    n: (a, b) => b.dataset.n - a.dataset.n,
  };
  const show = () => {
    let shown = 0;
    for (const card of cards) {
      card.hidden = !selects.every(s => !s.value || card.dataset[s.name].split("|").includes(s.value));
      shown += !card.hidden;
    }
    for (const head of heads)
      head.hidden = order.value || !cards.some(card => !card.hidden && card.dataset.chapter === head.dataset.chapter);
    form.querySelector("output").textContent = shown + (shown === 1 ? " claim" : " claims");
  };
  form.hidden = false;
  form.addEventListener("change", show);
  order.addEventListener("change", () => form.after(...(order.value ? cards.toSorted(orders[order.value]) : entries)));
  const target = () => { // a link to a claim, or to one merged into it, shows it whatever the filters say
    const card = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest(".claims article");
    if (!card) return;
    for (const s of selects) s.value = "";
    show();
    card.querySelector("details").open = true;
    card.scrollIntoView();
  };
  addEventListener("hashchange", target);
  target();
});
