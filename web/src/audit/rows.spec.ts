import type { AuditEvent } from './data';
import { rowsOf } from './rows';

const event = (event_id: string, operation_id: string | null) => ({ event_id, operation_id }) as AuditEvent;
const events = [event('1', null), event('2', 'a'), event('3', 'b'), event('4', 'a'), event('5', null)];
const shown = (unfolded: string[]) =>
  rowsOf(events, new Set(unfolded)).map(({ event, folded }) =>
    folded === null ? event.event_id : `${event.event_id} (${folded.length})`,
  );

describe('rowsOf', () => {
  it('folds the events of an operation into the row of the first, and keeps single events', () => {
    expect(shown([])).toEqual(['1', '2 (2)', '3', '5']);
  });

  it('lists the events of an unfolded operation below its row', () => {
    expect(shown(['a'])).toEqual(['1', '2 (2)', '2', '4', '3', '5']);
  });
});
