import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { namesIn } from '../support/metrics';
import { TestService } from '../support/service';

const token = 'prometheus-0123456789-abcdefghijklmnop';
const rulesFile = 'deploy/prometheus/alerts.yml';
const dashboardFile = 'deploy/grafana/carrier-identity.json';

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
}

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}

const { groups } = load(readFileSync(rulesFile, 'utf8')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(readFileSync(dashboardFile, 'utf8')) as { panels: Panel[] };
const operations = readFileSync('docs/operations.md', 'utf8');

/** Returns the metrics of an expression, without the suffixes of the series of a histogram. */
function metricsIn(expr: string): string[] {
  const series = expr.match(/\b(?:carrier_identity|nodejs|process)_[a-z0-9_]+|\bup\b/g) ?? [];
  return series.map((name) => name.replace(/_(bucket|sum|count)$/, ''));
}

describe('the metrics', () => {
  let service: TestService;
  let scraped: string;
  let names: string[];
  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN: token });
    scraped = (await service.get('/metrics', { token })).text;
    names = namesIn(scraped);
  });
  afterAll(() => service.close());

  it('exposes exactly the metrics in the table of docs/operations.md, with their types', () => {
    const documented = [...operations.matchAll(/^\| `(carrier_identity_\w+)` \| (\w+) \|/gm)];
    const exposed = [...scraped.matchAll(/^# TYPE (carrier_identity_\w+) (\w+)$/gm)];
    const asText = (matches: RegExpMatchArray[]) => matches.map(([, name, type]) => `${name} ${type}`).sort();
    expect(exposed.length).toBeGreaterThan(15);
    expect(asText(documented)).toEqual(asText(exposed));
  });

  it('exposes the metrics of each panel of the dashboard, and has a panel for each metric', () => {
    const shown = dashboard.panels.filter(({ type }) => type !== 'row');
    for (const { title, targets = [] } of shown) {
      const used = targets.flatMap(({ expr }) => metricsIn(expr));
      expect([title, used.length]).not.toEqual([title, 0]);
      expect([title, used.filter((name) => !names.includes(name))]).toEqual([title, []]);
    }
    const used = new Set(shown.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr))));
    expect(names.filter((name) => name.startsWith('carrier_identity_') && !used.has(name))).toEqual([]);
  });

  it('exposes the metrics of each alert', () => {
    expect(alerts).toHaveLength(11);
    for (const { alert, expr } of alerts) {
      const used = metricsIn(expr);
      expect([alert, used.length]).not.toEqual([alert, 0]);
      expect([alert, used.filter((name) => name !== 'up' && !names.includes(name))]).toEqual([alert, []]);
    }
  });

  it('gives each alert a severity, texts and a runbook', () => {
    const headings = [...operations.matchAll(/^### (CarrierIdentity\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect(annotations.description).toMatch(/\.$/);
    }
  });

  if (isInstalled('promtool')) {
    it('exposes metrics that promtool accepts', () => {
      execFileSync('promtool', ['check', 'metrics'], { input: scraped });
    });

    it('has alerts that promtool accepts, and that fire only on their fault', () => {
      execFileSync('promtool', ['check', 'rules', rulesFile]);
      execFileSync('promtool', ['test', 'rules', 'deploy/prometheus/alerts.test.yml']);
    });
  }
});

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version']).status === 0;
}
