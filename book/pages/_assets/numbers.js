// The first tap on a number shows what the records say, the second one follows the link; Escape hides it. Mouse and tab
// key need no script.
(() => {
  let touch = false, told = null;
  const tell = link => {
    told?.classList.remove("told");
    told = link;
    told?.classList.add("told");
  };
  addEventListener("pointerdown", event => { touch = event.pointerType === "touch"; }, true);
  addEventListener("click", event => {
    const link = event.target.closest?.("a.number");
    if (link && touch && link !== told) {
      event.preventDefault();
      tell(link);
    } else if (!link && !event.target.closest?.(".fact")) tell(null);
  });
  const hush = () => { document.documentElement.dataset.hushed = ""; };
  const listen = () => { delete document.documentElement.dataset.hushed; };
  addEventListener("keydown", event => { if (event.key === "Escape") hush(); }); // until pointer or focus moves on
  for (const moved of ["pointerover", "focusin"]) addEventListener(moved, listen);
})();
