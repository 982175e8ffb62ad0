import { api, dataOf } from '../../api/client';
import { ApiProblem } from '../../api/problems';
import { type Draft, useDraft } from '../../components/drafts/use-draft';
import { cacheUser, changeUser, type User } from '../data';
import { changesOf, isJsonObject, type UserValues, valuesOf } from './user-values';

/** Edits a user. */
export function useUserDraft(user: User): Draft<UserValues> {
  return useDraft({
    record: user,
    valuesOf,
    read: () => dataOf(api.GET('/user/{user_id}', { params: { path: { user_id: user.user_id } } })),
    save: async ({ base, values, changed }) => {
      if (!isJsonObject(values.attributes)) {
        const errors = [{ pointer: '/attributes', code: 'invalid', detail: '' }];
        throw new ApiProblem({ code: 'request.invalid', status: 400, errors });
      }
      return changeUser(base, changesOf(valuesOf(base), values, changed));
    },
    onSaved: cacheUser,
  });
}
