import { execFileSync } from 'node:child_process';

it('lints, renders as in the golden files, and is valid for Kubernetes', () => {
  const summary = execFileSync(process.execPath, ['scripts/chart.mjs'], { encoding: 'utf8' });
  expect(summary).toMatch(/Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: 0/);
}, 60_000);
