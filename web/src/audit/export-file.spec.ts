import type { AuditEvent, AuditQuery } from './data';
import { csvCell, exportEvents, type ExportFormat, exportMax } from './export-file';

/** Exports the events of a log with a number of events. */
async function exported(format: ExportFormat, total: number) {
  const queries: AuditQuery[] = [];
  const counts: number[] = [];
  const read = (query: AuditQuery) => {
    queries.push(query);
    const from = Number(query.cursor ?? 0);
    const size = Math.min(500, total - from);
    const items = Array.from(
      { length: size },
      (_, index) => ({ event_id: `e${from + index}`, changes: {} }) as AuditEvent,
    );
    return Promise.resolve({
      items,
      per_page: 500,
      total: null,
      next_cursor: from + size < total ? `${from + size}` : null,
    });
  };
  const { signal } = new AbortController();
  const onProgress = (count: number) => counts.push(count);
  const query = { actor_id: 'anna', per_page: 25, cursor: '7' };
  const { file, count, isCut } = await exportEvents({
    query,
    format,
    read,
    signal,
    onProgress,
    cutNote: 'There are more.',
  });
  return { lines: (await file.text()).trimEnd().split('\n'), count, isCut, queries, counts };
}

describe('exportEvents', () => {
  it('reads all pages from the first, and reports the progress', async () => {
    const { lines, isCut, queries, counts } = await exported('ndjson', 1_200);
    expect([lines.length, isCut, counts]).toEqual([1_200, false, [500, 1_000, 1_200]]);
    expect(queries[0]).toEqual({ actor_id: 'anna', per_page: 500, count: 'none' });
  });

  it.each([
    ['csv', 'There are more.\r', exportMax + 2],
    ['ndjson', '{"truncated":true,"events":10000}', exportMax + 1],
  ] as const)('says at the end of a %s file that it does not contain all events', async (format, last, length) => {
    const { lines, count, isCut } = await exported(format, exportMax + 1);
    expect([lines.length, count, isCut]).toEqual([length, exportMax, true]);
    expect(lines.at(-1)?.trimEnd()).toBe(last.trimEnd());
  });

  it('does not cut a file with exactly the maximum number of events', async () => {
    expect((await exported('csv', exportMax)).isCut).toBe(false);
  });
});

describe('csvCell', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ["'=1+1", "''=1+1"],
    ['\t@SUM(A1)', `"'\t'@SUM(A1)"`],
    ['＝1', "'＝1"],
    ['a;=1', `"a;'=1"`],
    ['a;"=1', `"a;'""=1"`],
    ['{"login":"-1"}', '"{""login"":""-1""}"'],
    ['1-1', '1-1'],
  ])('keeps a spreadsheet from running %j as a formula', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });
});
