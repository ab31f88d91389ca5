/** `node bench/node.js MODEL.safetensors TEXTS.json OUT.json COUNT`: run measure.js in Node. */
import { readFileSync, writeFileSync } from 'node:fs';
import { load } from '../src/index.js';
import { measure } from './measure.js';

const [model, texts, out, alone] = process.argv.slice(2);
const found = await measure(load, model, JSON.parse(readFileSync(texts, 'utf8')), Number(alone));
writeFileSync(out, JSON.stringify({ ...found, version: process.version }));
