/** Tabs: one view at a time. Arrow keys, Home and End move between them. */

/** Wire a tab list, which sends the event `view`; returns a function that selects the tab of a view. */
export function wireTabs(list) {
  const tabs = [...list.querySelectorAll('[role=tab]')];
  const select = (tab, isFocused = false) => {
    for (const other of tabs) {
      const isOwn = other === tab;
      other.setAttribute('aria-selected', String(isOwn));
      other.tabIndex = isOwn ? 0 : -1;
      document.getElementById(other.getAttribute('aria-controls')).hidden = !isOwn;
    }
    if (isFocused) tab.focus();
    list.dispatchEvent(new CustomEvent('view', { detail: tab.getAttribute('aria-controls') }));
  };
  list.addEventListener('click', (event) => {
    const tab = event.target.closest('[role=tab]');
    if (tab) select(tab);
  });
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0, at = tabs.indexOf(document.activeElement);
    const target = event.key === 'Home' ? 0 : event.key === 'End' ? tabs.length - 1 : step ? (at + step + tabs.length) % tabs.length : -1;
    if (target < 0 || at < 0) return;
    event.preventDefault();
    select(tabs[target], true);
  });
  return (view) => select(tabs.find((tab) => tab.getAttribute('aria-controls') === view));
}
