import { eventCatalogue } from '../../src/events/event-catalogue';
import { sourceFiles } from '../support/sources';

describe('the catalogue of events', () => {
  it('contains only types that the service records', () => {
    const code = sourceFiles()
      .filter(({ path }) => !path.endsWith('event-catalogue.ts'))
      .map(({ text }) => text)
      .join();
    expect(Object.keys(eventCatalogue).filter((type) => !code.includes(`'${type}'`))).toEqual([]);
  });

  it('declares each key of an event either personal or impersonal', () => {
    const unclear = Object.entries(eventCatalogue).filter(([, { personal, impersonal }]) => {
      const keys: readonly string[] = [...personal, ...impersonal];
      return new Set(keys).size < keys.length;
    });
    expect(unclear).toEqual([]);
  });
});
