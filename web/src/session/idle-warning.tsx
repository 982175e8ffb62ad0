import { Button, Group, Modal, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { ProblemAlert } from '../components/forms/problem-alert';
import { useProblemForm } from '../components/forms/use-problem-form';
import { useShellTexts } from '../texts/use-shell-texts';
import { isActive, onActivity } from './activity';
import { interrupt, logOut, renewToken, sessionEndsAt } from './session';
import { useSession } from './session-store';

/** Seconds before the end of the session at which the console warns. */
const warnBeforeSeconds = 120;
const tickMs = 1_000;
/** Ends of a session that differ by less are equal: they are computed from rounded seconds. */
const unchangedMs = 5_000;

/**
 * Warns before the session ends for lack of input. Renews the session instead while the user works.
 */
export function IdleWarning(): ReactNode {
  const texts = useShellTexts().idle;
  const isLoggedIn = useSession().phase === 'logged-in';
  const secondsLeft = useSecondsLeft(isLoggedIn);
  const isWarning = isLoggedIn && secondsLeft <= warnBeforeSeconds;
  const shown = Math.max(0, Math.ceil(secondsLeft));
  const time = `${Math.floor(shown / 60)}:${String(shown % 60).padStart(2, '0')}`;
  const form = useProblemForm();
  const send = (request: () => Promise<unknown>) => {
    if (!form.isSending) void form.submit(request);
  };
  const stay = () =>
    send(async () => {
      if (!(await renewToken())) interrupt();
    });
  return (
    <Modal
      opened={isWarning}
      onClose={stay}
      onExitTransitionEnd={form.clear}
      title={texts.title}
      withCloseButton={false}
      zIndex={380}
    >
      <Text role="timer" mb="md">
        {texts.text(time)}
      </Text>
      <ProblemAlert error={form.problem} />
      <Group justify="flex-end" mt="md">
        <Button variant="default" disabled={form.isSending} onClick={() => send(logOut)}>
          {texts.leave}
        </Button>
        <Button onClick={stay} loading={form.isSending} data-autofocus>
          {texts.stay}
        </Button>
      </Group>
    </Modal>
  );
}

/**
 * Returns the seconds until the session ends, or Infinity while no warning is needed. Interrupts
 * the session at 0.
 */
function useSecondsLeft(isLoggedIn: boolean): number {
  const [secondsLeft, setSecondsLeft] = useState(Infinity);
  const renewedFor = useRef(0);
  useEffect(() => {
    if (!isLoggedIn) return;
    const check = () => {
      const endsAt = sessionEndsAt();
      const left = (endsAt - Date.now()) / 1_000;
      // Typing sends no requests that would keep the session alive. Try once per end, because a
      // session at its maximum age cannot be renewed.
      const mayRenew = isActive() && left > 0 && Math.abs(endsAt - renewedFor.current) > unchangedMs;
      if (left <= warnBeforeSeconds && mayRenew) {
        renewedFor.current = endsAt;
        void renewToken().catch(() => undefined);
      }
      // An open warning stays until the renewal succeeds.
      setSecondsLeft((shown) => (left > warnBeforeSeconds || (mayRenew && shown === Infinity) ? Infinity : left));
      if (left <= 0) interrupt();
    };
    const timer = setInterval(check, tickMs);
    const stop = onActivity(check);
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [isLoggedIn]);
  return isLoggedIn ? secondsLeft : Infinity;
}
