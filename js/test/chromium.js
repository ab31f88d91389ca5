/** A headless Chromium. */
import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** Start a headless Chromium; $CAPSULET_CHROMIUM is its path. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CAPSULET_CHROMIUM || '/usr/bin/chromium', args: FLAGS });
}
