import { IconDeviceMobile, IconFingerprint } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { FactorKind } from './data';

const size = 20;

/** Shows a kind of second factor. */
export function FactorIcon({ kind }: { kind: FactorKind }): ReactNode {
  return kind === 'totp' ? <IconDeviceMobile size={size} aria-hidden /> : <IconFingerprint size={size} aria-hidden />;
}
