import { Button, Modal, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { isReachable } from '../api/reachable';
import { useShellTexts } from '../texts/use-shell-texts';

/** Offers a reload after an update of the service removed a part of the loaded version. */
export function UpdateNotice(): ReactNode {
  const texts = useShellTexts();
  const [isOld, setIsOld] = useState(false);
  useEffect(() => {
    // The parts cannot be loaded either while the service is down. Then the page says so.
    const notice = () => void isReachable().then(setIsOld);
    window.addEventListener('vite:preloadError', notice);
    return () => window.removeEventListener('vite:preloadError', notice);
  }, []);
  return (
    <Modal
      opened={isOld}
      onClose={() => setIsOld(false)}
      title={texts.update.title}
      closeButtonProps={{ 'aria-label': texts.close }}
      zIndex={500}
    >
      <Text size="sm" mb="md">
        {texts.update.text}
      </Text>
      <Button onClick={() => location.reload()}>{texts.update.reload}</Button>
    </Modal>
  );
}
