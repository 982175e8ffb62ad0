import { lazy, type ReactNode, useState } from 'react';
import { useMe } from '../../session/use-me';

const PasswordDutyPage = lazy(async () => ({ default: (await import('./password-duty.page')).PasswordDutyPage }));
const FactorDutyPage = lazy(async () => ({ default: (await import('./factor-duty.page')).FactorDutyPage }));

/**
 * Shows the console, or only the page for a password or second factor that the user must set up
 * first. Until then, the API rejects everything else.
 */
export function Duties({ children }: { children: ReactNode }): ReactNode {
  const { user } = useMe();
  // The factor counts as set up before the user has saved the recovery codes.
  const [hasCodes, setHasCodes] = useState(false);
  if (user.must_change_password) return <PasswordDutyPage />;
  if (user.must_enroll_second_factor || hasCodes)
    return <FactorDutyPage onCodes={() => setHasCodes(true)} onDone={() => setHasCodes(false)} />;
  return children;
}
