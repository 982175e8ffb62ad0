import { Text, Tooltip } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';
import { formatsIn, localeOf, useFormats } from '../texts/formats';
import { type Language, useLanguage } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns the largest unit that fits into a number of seconds, with its length in seconds. */
const unitOf = (seconds: number) => units.find(([, length]) => seconds >= length) ?? (['second', 1] as const);

/** Times up to this far ahead are "just now": the clocks of browser and service may differ. */
const clockSkewSeconds = 5;

/**
 * Returns a time relative to now, such as "5 minutes ago". Seconds would soon be wrong, because the
 * text changes once a minute.
 */
function relativeTime(time: Date, language: Language, texts: { justNow: string; withinMinute: string }): string {
  const seconds = (time.getTime() - Date.now()) / 1_000;
  if (Math.abs(seconds) < 60) return seconds > clockSkewSeconds ? texts.withinMinute : texts.justNow;
  const [unit, size] = unitOf(Math.abs(seconds));
  return formatsIn(language).relative.format(Math.trunc(seconds / size), unit);
}

/** Returns a duration in its largest unit, rounded up, such as "3 minutes". */
export function durationText(seconds: number, language: Language): string {
  const [unit, size] = unitOf(seconds);
  const format = new Intl.NumberFormat(localeOf(language), { style: 'unit', unit, unitDisplay: 'long' });
  return format.format(Math.max(1, Math.ceil(seconds / size)));
}

/** Returns the exact time in the time zone of the viewer, with the zone. */
export function exactTime(time: Date, language: Language): string {
  return formatsIn(language).full.format(time);
}

/** Shows a time of the API relative to now, with the exact time on hover and focus. */
export function TimeText({ value, absent }: { value: string | null | undefined; absent?: string }): ReactNode {
  const language = useLanguage();
  const texts = useShellTexts();
  useMinute();
  if (value === null || value === undefined)
    return (
      <Text span inherit c="dimmed">
        {absent ?? texts.never}
      </Text>
    );
  return <ExactOnHover value={value}>{relativeTime(new Date(value), language, texts)}</ExactOnHover>;
}

/** Shows a time of the API relative to now, and below it with seconds and time zone, for logs. */
export function LogTime({ value }: { value: string }): ReactNode {
  return (
    <>
      <TimeText value={value} />
      <Text component="div" size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {useFormats().second.format(new Date(value))}
      </Text>
    </>
  );
}

/** Shows the date of a time of the API, with the exact time on hover and focus. */
export function DateText({ value }: { value: string }): ReactNode {
  return <ExactOnHover value={value}>{useFormats().date.format(new Date(value))}</ExactOnHover>;
}

function ExactOnHover({ value, children }: { value: string; children: string }): ReactNode {
  return (
    <Tooltip label={useFormats().full.format(new Date(value))} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={value} tabIndex={0}>
        {children}
      </time>
    </Tooltip>
  );
}

const everyMs = 60_000;

const listeners = new Set<() => void>();
let minute = 0;
let timer: number | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    minute++;
    for (const notify of [...listeners]) notify();
  }, everyMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** Re-renders the component each minute, for times relative to now. */
function useMinute(): void {
  useSyncExternalStore(subscribe, () => minute);
}
