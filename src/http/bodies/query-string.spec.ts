import { cutParameters, decodeQuery, parametersMax } from './query-string';

describe('the query of a URL', () => {
  const parameters = (count: number) => Array.from({ length: count }, (_, index) => `a${index}=1`).join('&');

  it('is cut after the first parameter beyond the maximum, before a router decodes it (H30)', () => {
    const cut = cutParameters(`/nothing?${parameters(7_000)}`);
    expect(cut).toBe(`/nothing?${parameters(parametersMax + 1)}`);
    expect(Object.keys(decodeQuery(parameters(parametersMax + 1)))).toEqual([]);
  });

  it('is not changed up to the maximum', () => {
    const url = `/user/list?${parameters(parametersMax)}`;
    expect(cutParameters(url)).toBe(url);
    expect(Object.keys(decodeQuery(parameters(parametersMax)))).toHaveLength(parametersMax);
  });
});
