import { Text, UnstyledButton } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { Section } from '../components/page';
import { type Health, type HealthState, parts } from './health';
import classes from './overview.module.css';
import { useHealthTexts } from './use-health-texts';
import { useOverviewTexts } from './use-overview-texts';

const icons = { ok: IconCircleCheck, warning: IconAlertTriangle, critical: IconCircleX };

/** Shows a state as an icon. The word beside it says the same. */
export function StateIcon({ state }: { state: HealthState }): ReactNode {
  const Icon = icons[state];
  return <Icon size={18} aria-hidden className={classes.state} data-state={state} />;
}

/** Shows the state of each part of the service, with an icon, a word and its main figures. */
export function HealthStrip({ health }: { health: Health }): ReactNode {
  const texts = useOverviewTexts().health;
  const { detailOf } = useHealthTexts();
  return (
    <Section title={texts.title}>
      <ul className={classes.parts}>
        {parts.map(({ part, to }) => {
          const shown = health[part];
          if (shown === undefined) return null;
          const content = (
            <>
              <StateIcon state={shown.state} />
              <span>
                <Text component="span" display="block" fw={600}>
                  {texts.parts[part]}
                </Text>
                <Text component="span" display="block" size="xs" c="dimmed">
                  <b>{texts.states[shown.state]}</b> · {detailOf(health, part)}
                </Text>
              </span>
            </>
          );
          return (
            <li key={part}>
              {to === undefined ? (
                <div className={classes.part}>{content}</div>
              ) : (
                <UnstyledButton component={Link} to={to} className={classes.part}>
                  {content}
                </UnstyledButton>
              )}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
