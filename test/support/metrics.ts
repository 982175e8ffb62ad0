/** A sample of a scrape: the name and labels of a series, with its value. */
export type Scrape = Map<string, number>;

/** Parses the text format of Prometheus. Keys are like `name{label="value"}`, as in the text. */
export function parseScrape(text: string): Scrape {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** Returns the values of the series of a metric, by their labels as text. */
export function valuesOf(scrape: Scrape, name: string): Record<string, number> {
  const series = [...scrape].filter(([key]) => key === name || key.startsWith(`${name}{`));
  return Object.fromEntries(series.map(([key, value]) => [key.slice(name.length), value]));
}

/** Returns the names of all metrics of a scrape, with and without values. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name as string);
}
