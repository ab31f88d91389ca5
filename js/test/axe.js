/** Accessibility problems that axe finds. */
import { readFileSync } from 'node:fs';

const source = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** Every finding of axe on a page, also minor ones, and those about contrast in dark colours: the rule, and where. */
export async function findings(page) {
  await page.evaluate(source); // through the debugger, which the policy of the page does not concern
  const run = (options) => page.evaluate(async (given) => (await axe.run(document, given)).violations, { resultTypes: ['violations'], ...options });
  await page.emulateMedia({ colorScheme: 'light' });
  const found = await run();
  await page.emulateMedia({ colorScheme: 'dark' });
  found.push(...await run({ runOnly: ['color-contrast'] }));
  return found.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 150)).join(' | ')}`);
}
