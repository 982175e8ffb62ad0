import { Alert, Loader } from '@mantine/core';
import { useIsFetching } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useNavigation } from 'react-router';
import { useIsWaiting } from '../api/reachable';
import { useShellTexts } from '../texts/use-shell-texts';
import classes from './shell.module.css';

/** Shows that the console waits for the service. The page and its input stay as they are. */
export function ConnectionNotice(): ReactNode {
  const texts = useShellTexts().outage;
  if (!useIsWaiting()) return null;
  return (
    <Alert role="status" color="yellow" mb="md" icon={<Loader size={16} color="yellow" />} title={texts.title}>
      {texts.text}
    </Alert>
  );
}

/** Shows a bar at the top while a page loads for longer than a moment. */
export function LoadingBar(): ReactNode {
  const { loading } = useShellTexts();
  const isNavigating = useNavigation().state === 'loading';
  const first = useIsFetching({ predicate: ({ state }) => state.data === undefined });
  if (!isNavigating && first === 0) return null;
  return <div role="progressbar" aria-label={loading} className={classes.loading} />;
}
