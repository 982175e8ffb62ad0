import { useMediaQuery } from '@mantine/hooks';

/** Returns whether the window is as narrow as a phone. */
export function useIsPhone(): boolean {
  return useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false });
}
