import { Button, Group, Tabs } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { useParams, useSearchParams } from 'react-router';
import { lazyPart } from '../../components/boundary';
import { BackLink, PageHeader, PageSkeleton } from '../../components/page';
import { ProblemAlert } from '../../components/forms/problem-alert';
import { useMe } from '../../session/use-me';
import { fullNameOf, type User, useUser } from '../data';
import { usersTexts as en } from '../texts.en';
import { useUserActions } from '../actions/use-user-actions';
import { useUsersTexts } from '../use-users-texts';
import { UserBadges } from '../user-badges';
import { UserMenu } from '../actions/user-menu';
import classes from '../users.module.css';
import { LoginCheck } from './login-check';
import { LoginNotice } from './login-notice';
import { UserData } from './user-data';
import { UserFactors } from './user-factors';
import { UserHistory } from './user-history';
import { UserOverview } from './user-overview';
import { UserRoles } from './user-roles';

const UserSessions = lazyPart(async () => (await import('./user-sessions')).UserSessions);

type Tab = keyof typeof en.tabs;

/** Shows a user. The URL contains the tab. */
export function UserPage(): ReactNode {
  const texts = useUsersTexts();
  const { userId = '' } = useParams();
  const user = useUser(userId);
  return (
    <>
      <BackLink to="/users">{texts.title}</BackLink>
      {user.data === undefined && user.error !== null && (
        <ProblemAlert error={user.error} onRetry={() => void user.refetch()} />
      )}
      {user.isPending && <PageSkeleton />}
      {user.data !== undefined && <UserView key={userId} user={user.data} />}
    </>
  );
}

function UserView({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts();
  const { can } = useMe();
  const [search, setSearch] = useSearchParams();
  const isDeleted = user.deleted_at !== null;
  const mayEdit = can('user:update') && !isDeleted;
  const pages: Partial<Record<Tab, ReactNode>> = {
    overview: <UserOverview user={user} />,
    ...(mayEdit ? { data: <UserData user={user} /> } : {}),
    ...(isDeleted ? {} : { roles: <UserRoles user={user} /> }),
    ...(can('session:read') && !isDeleted ? { sessions: <UserSessions user={user} /> } : {}),
    ...(isDeleted ? {} : { factors: <UserFactors user={user} /> }),
    ...(can('audit:read') ? { history: <UserHistory user={user} /> } : {}),
    login: <LoginCheck user={user} />,
  };
  const wanted = search.get('tab') as Tab | null;
  const tab = wanted !== null && Object.hasOwn(pages, wanted) ? wanted : 'overview';
  const show = (next: string) => setSearch(next === 'overview' ? {} : { tab: next }, { replace: true });
  return (
    <>
      <PageHeader
        title={user.name}
        description={<Summary user={user} />}
        actions={<UserButtons user={user} {...(mayEdit && tab !== 'data' ? { onEdit: () => show('data') } : {})} />}
      />
      {tab !== 'login' && <LoginNotice user={user} onShow={() => show('login')} />}
      <Tabs
        value={tab}
        onChange={(next) => show(next ?? 'overview')}
        keepMounted={false}
        // `activity` would end the effect that reports unsaved changes of a hidden form.
        keepMountedMode="display-none"
      >
        <Tabs.List mb="md" className={classes.tabs}>
          {(Object.keys(pages) as Tab[]).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {texts.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(pages).map(([name, page]) => (
          <Tabs.Panel key={name} value={name} keepMounted={name === 'data' || name === 'roles'}>
            <Suspense fallback={<PageSkeleton />}>{page}</Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}

/** Shows what operators do most, and all else in a menu. The notice below contains remedies. */
function UserButtons({ user, onEdit }: { user: User; onEdit?: () => void }): ReactNode {
  const texts = useUsersTexts();
  const { mayDo, start, dialog } = useUserActions(user);
  const hasSecure = user.status === 'active' && mayDo('secure');
  return (
    <>
      {onEdit !== undefined && (
        <Button variant="default" onClick={onEdit}>
          {texts.overview.edit}
        </Button>
      )}
      {hasSecure && (
        <Button color="red" variant="light" onClick={() => start('secure')}>
          {texts.actions.secure.label}
        </Button>
      )}
      <UserMenu user={user} isLarge except={hasSecure ? ['secure'] : []} />
      {dialog}
    </>
  );
}

function Summary({ user }: { user: User }): ReactNode {
  const texts = useUsersTexts();
  const parts = [fullNameOf(user), user.email, user.carrier_id ?? texts.userType.system].filter(
    (part) => part !== null,
  );
  return (
    <Group component="span" gap="xs">
      <UserBadges user={user} />
      <span>{parts.join(' · ')}</span>
    </Group>
  );
}
