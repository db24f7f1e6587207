/** What a client and its user do while connecting, in order. Not every client does all of it. */
export const attemptSteps = [
  'challenge',
  'resource_metadata',
  'server_metadata',
  'client',
  'register',
  'page',
  'sign_in',
  'code',
  'token',
  'first_call',
  'list',
] as const

export type AttemptStep = (typeof attemptSteps)[number]
