import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { api } from '../../api/client';
import { isProblem } from '../../api/problems';
import { changed } from '../../api/stale';
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog';
import { useMe } from '../../session/use-me';
import { useErrorTexts } from '../../texts/use-error-texts';
import { isLocked, type User } from '../data';
import { type Decisions, SecureDialog } from './secure-dialog';
import { useUsersTexts } from '../use-users-texts';

/** What an administrator can do to one user. */
export type UserAction =
  | 'invite'
  | 'resetMail'
  | 'unlock'
  | 'enable'
  | 'restore'
  | 'endSessions'
  | 'resetFactors'
  | 'secure'
  | 'disable'
  | 'delete'
  | 'purge';

/** Actions that require a confirmation. */
export const destructiveActions: readonly UserAction[] = [
  'endSessions',
  'resetFactors',
  'secure',
  'disable',
  'delete',
  'purge',
];

/** The actions on a user, and who may use them. */
export interface UserActions {
  /** Returns whether the caller may use an action and the state of the user allows it. */
  mayDo: (action: UserAction) => boolean;
  /** Starts an action. Asks first if the action is destructive. */
  start: (action: UserAction) => void;
  /** the confirmation; render it once */
  dialog: ReactNode;
}

/** Returns the actions on a user. */
export function useUserActions(user: User): UserActions {
  const texts = useUsersTexts().actions;
  const { textOf } = useErrorTexts();
  const navigate = useNavigate();
  const mayDo = useAllowedActions(user);
  const [confirming, setConfirming] = useState<UserAction | null>(null);
  const run = async (action: UserAction, decisions?: Decisions) => {
    await requests[action](user, decisions);
    notifications.show({ message: texts[action].done(user.name) });
    // The page of the user no longer exists.
    if (action === 'purge') await navigate('/users?deleted=true', { replace: true });
    await changed('users');
  };
  const start = (action: UserAction) => {
    if (destructiveActions.includes(action)) setConfirming(action);
    else run(action).catch((error: unknown) => notifications.show({ color: 'red', message: textOf(error) }));
  };
  const close = () => setConfirming(null);
  const dialog =
    confirming === 'secure' ? (
      <SecureDialog user={user} onConfirm={(decisions) => run('secure', decisions)} onClose={close} />
    ) : (
      confirming !== null && (
        <ConfirmDialog
          opened
          isDestructive
          title={texts[confirming].title}
          confirmLabel={texts[confirming].confirm}
          {...(confirming === 'purge' ? { typedConfirmation: user.name } : {})}
          onConfirm={() => run(confirming)}
          onClose={close}
        >
          {texts[confirming].question(user.name)}
        </ConfirmDialog>
      )
    );
  return { mayDo, start, dialog };
}

/** Returns whether the caller may use an action and the state of the user allows it. */
export function useAllowedActions(user: User): UserActions['mayDo'] {
  const { user: me, can } = useMe();
  const { status, second_factors } = user;
  const isDeleted = user.deleted_at !== null;
  const isOther = user.user_id !== me.user_id;
  const mayUpdate = can('user:update') && !isDeleted;
  const rules: Record<UserAction, boolean> = {
    invite: mayUpdate && status === 'invited',
    resetMail: mayUpdate && status === 'active',
    unlock: mayUpdate && isOther,
    enable: mayUpdate && status === 'disabled',
    restore: isDeleted && can('user:delete'),
    endSessions: can('session:revoke') && !isDeleted && status === 'active',
    resetFactors: can('user:reset_factors') && isOther && !isDeleted && second_factors.length > 0,
    secure: mayUpdate && isOther,
    disable: mayUpdate && isOther && status !== 'disabled',
    delete: can('user:delete') && isOther && !isDeleted,
    purge: can('user:delete') && can('user:purge') && isOther && isDeleted,
  };
  return (action) => rules[action];
}

const pathOf = ({ user_id }: User) => ({ params: { path: { user_id } } });

const requests: Record<UserAction, (user: User, decisions?: Decisions) => Promise<unknown>> = {
  invite: (user) => api.POST('/user/{user_id}/invite', pathOf(user)),
  resetMail: ({ email }) => api.POST('/auth/reset_email', { body: { email } }),
  unlock: (user) => api.POST('/user/{user_id}/unlock', pathOf(user)),
  enable: (user) =>
    api.PATCH('/user/{user_id}', { ...pathOf(user), body: { status: 'active' } }).catch((error: unknown) => {
      // A user without a password can only become `invited` again.
      if (!isProblem(error, 'user.no_password')) throw error;
      return api.PATCH('/user/{user_id}', { ...pathOf(user), body: { status: 'invited' } });
    }),
  restore: (user) => api.POST('/user/{user_id}/restore', pathOf(user)),
  endSessions: ({ user_id }) => api.DELETE('/auth/session/all', { params: { query: { user_id } } }),
  resetFactors: (user) => api.DELETE('/user/{user_id}/factor/all', pathOf(user)),
  secure: (user, body = {}) => api.POST('/user/{user_id}/secure', { ...pathOf(user), body }),
  disable: (user) => api.PATCH('/user/{user_id}', { ...pathOf(user), body: { status: 'disabled' } }),
  delete: (user) => api.DELETE('/user/{user_id}', pathOf(user)),
  purge: ({ user_id }) => api.DELETE('/user/{user_id}', { params: { path: { user_id }, query: { purge: true } } }),
};

/** Returns whether a menu offers an action. Only locked users can be unlocked there. */
export function isOffered(action: UserAction, user: User): boolean {
  return action !== 'unlock' || isLocked(user);
}
