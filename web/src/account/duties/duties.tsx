import { lazy, type ReactNode, useState } from 'react';
import { useMe } from '../../session/use-me';

const PasswordDutyPage = lazy(async () => ({ default: (await import('./password-duty.page')).PasswordDutyPage }));
const FactorDutyPage = lazy(async () => ({ default: (await import('./factor-duty.page')).FactorDutyPage }));

/**
 * Shows the console, unless the user must first change the password or set up a second factor: then
 * only that, because the API rejects everything else.
 */
export function Duties({ children }: { children: ReactNode }): ReactNode {
  const { user } = useMe();
  // The user has the factor before they have saved the recovery codes.
  const [hasCodes, setHasCodes] = useState(false);
  if (user.must_change_password) return <PasswordDutyPage />;
  if (user.must_enroll_second_factor || hasCodes)
    return <FactorDutyPage onCodes={() => setHasCodes(true)} onDone={() => setHasCodes(false)} />;
  return children;
}
