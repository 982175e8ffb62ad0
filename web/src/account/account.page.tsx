import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { PageHeader } from '../components/page';
import classes from './account.module.css';
import { FactorsSection } from './factors/factors-section';
import { LoginSection } from './login-section';
import { OwnFacts } from './own-facts';
import { ProfileSection } from './profile-section';
import { useAccountTexts } from './use-account-texts';

/** Shows the page on which users see and change their own data. */
export function AccountPage(): ReactNode {
  const texts = useAccountTexts();
  return (
    <div className={classes.column}>
      <PageHeader title={texts.title} />
      <Stack gap="md">
        <OwnFacts />
        <ProfileSection />
        <LoginSection />
        <FactorsSection />
      </Stack>
    </div>
  );
}
