import { useLanguage } from '../texts/language';

/** Returns functions that format an hour in the time zone of the viewer. */
export function useHours(): { startOf: (hour: string) => string; rangeOf: (hour: string) => string } {
  const language = useLanguage();
  const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const hourMs = 3_600_000;
  return {
    startOf: (hour) => time.format(new Date(hour)),
    rangeOf: (hour) => time.formatRange(new Date(hour), new Date(Date.parse(hour) + hourMs)),
  };
}
