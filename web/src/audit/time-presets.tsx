import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { listEventsFilters } from '../api/filters';
import type { ListParams } from '../components/lists/use-list-params';
import { useAuditTexts } from './use-audit-texts';

const minuteMs = 60_000;
const lastMinutes = { minutes15: 15, hour: 60, day: 1_440 } as const;
/** Conditions that a preset replaces. */
const noTime = Object.fromEntries(listEventsFilters.occurred_at.operators.map((one) => [`occurred_at${one}`, null]));

/** Filters the audit log by a period before now, or by the day before today. */
export function TimePresets({ params }: { params: ListParams<object> }): ReactNode {
  const { periods } = useAuditTexts();
  const show = (from: Date, until?: Date) =>
    params.set({ ...noTime, occurred_at_gte: from.toISOString(), occurred_at_lt: until?.toISOString() ?? null });
  return (
    <Button.Group aria-label={periods.label} attributes={{ group: { role: 'group' } }}>
      {(Object.keys(lastMinutes) as (keyof typeof lastMinutes)[]).map((name) => (
        <Button
          key={name}
          variant="default"
          size="xs"
          px="xs"
          title={periods.names[name]}
          onClick={() => show(new Date(Date.now() - lastMinutes[name] * minuteMs))}
        >
          {periods.short[name]}
        </Button>
      ))}
      <Button variant="default" size="xs" px="xs" onClick={() => show(midnight(-1), midnight(0))}>
        {periods.yesterday}
      </Button>
    </Button.Group>
  );
}

/** Returns the start of a day in the time zone of the viewer, in days from today. */
function midnight(days: number): Date {
  const today = new Date();
  return new Date(today.getFullYear(), today.getMonth(), today.getDate() + days);
}
