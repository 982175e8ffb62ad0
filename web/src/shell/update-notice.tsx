import { Button, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { isReachable } from '../api/reachable';
import { Dialog } from '../components/dialogs/dialog';
import { useShellTexts } from '../texts/use-shell-texts';

/** Offers a reload if the code of a page no longer exists after an update of the service. */
export function UpdateNotice(): ReactNode {
  const texts = useShellTexts();
  const [isOld, setIsOld] = useState(false);
  useEffect(() => {
    // While the service is down, loading code fails too. `RouteFailure` reports that.
    const notice = () => void isReachable().then(setIsOld);
    window.addEventListener('vite:preloadError', notice);
    return () => window.removeEventListener('vite:preloadError', notice);
  }, []);
  return (
    <Dialog opened={isOld} onClose={() => setIsOld(false)} title={texts.update.title} zIndex={500}>
      <Text size="sm" mb="md">
        {texts.update.text}
      </Text>
      <Button onClick={() => location.reload()}>{texts.update.reload}</Button>
    </Dialog>
  );
}
