import { deviceOf } from './mail-origin';

const chrome = (system: string) =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36`;

describe('the device in a security mail', () => {
  it.each([
    [chrome('Windows NT 10.0; Win64; x64'), 'Chrome 130, Windows'],
    [chrome('X11; Linux x86_64'), 'Chrome 130, Linux'],
    [null, null],
    ['', null],
  ])('is the browser and the operating system: %s', (user_agent, device) => {
    expect(deviceOf(user_agent)).toBe(device);
  });

  it.each([
    'evil.test/1',
    'Call-43-666/1 (https://evil.test)',
    'Visit evil.test/130 now/1.2 ',
    'Mozilla/5.0 (evil.test) evil.test/9.9',
    'evil.test (KHTML, like Gecko) evil.test/130',
    `${'a'.repeat(10_000)} https://evil.test`,
  ])('contains no text that the client chose: %s (I17)', (user_agent) => {
    expect(deviceOf(user_agent) ?? '').not.toMatch(/evil|Call|Visit|aaa/);
  });
});
