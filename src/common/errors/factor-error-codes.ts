/** Error codes of second factors; part of `errorCodes`. */
export const factorErrorCodes = {
  'auth.reauthentication_required': {
    status: 401,
    title: 'A recent authentication is required',
    meaning:
      'The last authentication of the session is too old for this operation. Call `POST /auth/reauthenticate` and ' +
      'repeat the request. A refreshed token does not help.',
  },
  'factor.not_found': {
    status: 404,
    title: 'Factor not found',
    meaning: 'The user has no second factor with this id, or none at all. Unconfirmed factors expire after 10 minutes.',
  },
  'factor.required': {
    status: 409,
    title: 'A second factor is required',
    meaning: 'The user must have a second factor, and this is the last one. Add another factor first.',
  },
  'factor.too_many': {
    status: 409,
    title: 'Too many factors',
    meaning: 'The user has the maximum number of second factors of this kind. Remove one first.',
  },
} as const;
