/**
 * Build the static page into dist/: `npm run build`.
 *
 * dist/index.html and its folders can be served by any web server. dist/capsulet.html is the same page in one file, which
 * also works when it is opened from a disk: browsers load no modules and no WebAssembly from there.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = '../src/capsulet/serve/page', LIBRARY = '../src/index.js';
process.chdir(fileURLToPath(new URL('.', import.meta.url)));
if (!existsSync('src/capsulet.wasm')) throw new Error('src/capsulet.wasm is missing: run `make wasm`');
const read = (path) => readFileSync(path, 'utf8');

/** A text with its only occurrence of `found` replaced. */
function replaced(text, found, by) {
  if (text.split(found).length !== 2) throw new Error(`expected ${JSON.stringify(found)} once`);
  return text.replace(found, () => by);
}

/** The page for the engine in the browser. */
const index = replaced(read(`${PAGE}/index.html`), 'data-engine="server"', 'data-engine="wasm"');

function buildFolder() {
  rmSync('dist', { recursive: true, force: true });
  mkdirSync('dist/page', { recursive: true });
  writeFileSync('dist/index.html', index);
  for (const name of readdirSync(PAGE)) if (/\.(js|css)$/.test(name)) cpSync(`${PAGE}/${name}`, `dist/page/${name}`);
  cpSync('src', 'dist/src', { recursive: true });
}

// ---- one file ----

const IMPORT = /^import \{([^}]*)\} from '\.\/([\w]+\.js)';\n/gm;
const EXPORT = /^export ((?:async )?function\*?|class|const) (\w+)/gm;
const variable = (name) => `$${name.replace('.js', '')}`;

/** A module as a function that returns its exports, after the modules that it imports. */
function module(name, source, done) {
  if (done.has(name)) return;
  done.set(name, ''); // imports in a circle would find an empty module
  for (const [, , needed] of source.matchAll(IMPORT)) module(needed, read(`${PAGE}/${needed}`), done);
  const names = [...source.matchAll(EXPORT)].map(([, , exported]) => exported);
  const inside = source.replace(IMPORT, (_, wanted, needed) => `const {${wanted}} = ${variable(needed)};\n`).replace(EXPORT, '$1 $2');
  if (/^\s*(import|export) /m.test(inside)) throw new Error(`${name}: an import or export that build.js does not know`);
  done.delete(name);
  done.set(name, `const ${variable(name)} = (() => {\n${inside}\nreturn { ${names.join(', ')} };\n})();\n`);
}

/** All modules of the page and of the package as one script. */
function script() {
  const bytes = readFileSync('src/capsulet.wasm').toString('base64'), modules = new Map();
  module('library.js', replaced(read('src/index.js'), "new URL('./capsulet.wasm', import.meta.url)", `new URL('data:application/wasm;base64,${bytes}')`), modules);
  module('app.js', read(`${PAGE}/app.js`), modules);
  const all = replaced([...modules.values()].join('\n'), `await import('${LIBRARY}')`, variable('library.js'));
  return all.replace(/<(?=!--|\/?script)/gi, '\\x3C'); // in strings; HTML would read them as tags
}

const digest = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page in one file. Its policy allows this script and this style by their digests. */
function oneFile() {
  const style = read(`${PAGE}/palette.css`) + read(`${PAGE}/style.css`), code = script();
  const policy = /content="default-src[^"]*"/.exec(index)[0];
  const own = policy.replace("script-src 'self'", `script-src ${digest(code)}`).replace("style-src 'self'", `style-src ${digest(style)}`)
    .replace("connect-src 'self'", "connect-src 'self' data:");
  let html = replaced(index, policy, own);
  html = replaced(html, '    <link rel="stylesheet" href="page/palette.css" />\n', '');
  html = replaced(html, '<link rel="stylesheet" href="page/style.css" />', `<style>${style}</style>`);
  return replaced(html, '<script type="module" src="page/app.js"></script>', `<script type="module">${code}</script>`);
}

buildFolder();
writeFileSync('dist/capsulet.html', oneFile());
