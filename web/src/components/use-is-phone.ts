import { useMediaQuery } from '@mantine/hooks';

/** Returns whether the window is as narrow as a phone. Paper is not a phone. */
export function useIsPhone(): boolean {
  return useMediaQuery('screen and (max-width: 48em)', undefined, { getInitialValueInEffect: false });
}
