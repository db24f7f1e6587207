import type { RequirementRow } from '../requirement.ts'
import { core, e2e, flow, http, negative } from './proof.ts'

/** Security considerations, and the grammar of what is sent: section 10 and appendix A. */
export const oauth20Security: readonly RequirementRow[] = [
  [
    '10.2',
    'A later request is never allowed by an earlier consent.',
    'server/http/authorize.ts',
    flow('RFC 6749 10.2: a browser that allowed a client is asked again, by it and by every other'),
  ],
  [
    '10.3',
    'Tokens are secrets: they are in no log.',
    'server/log-redaction.ts',
    e2e('log-secrecy', 'tells what happened without any of the secrets'),
  ],
  [
    '10.4',
    'A refresh token works for its client alone.',
    'server/core/refresh-token.ts',
    negative.refresh('RFC 6749 10.4: the refresh token of another client'),
  ],
  [
    '10.10',
    'What is given out has 256 random bits.',
    'server/core/token-issue.ts',
    core('token-issue', 'stores keys of two tokens with 256 random bits each, behind the time of issue'),
  ],
  [
    '10.12',
    'Forms are bound to their browser.',
    'server/core/sign-in-transaction.ts',
    http('authorize', 'login CSRF: a page of one browser is useless in another'),
  ],
  [
    '10.13',
    'Pages cannot be framed.',
    'server/http/security-headers.ts',
    negative.authorization('RFC 9700 4.16: the login page cannot be framed'),
  ],
  [
    'A.1',
    'A client id that none can be is unknown.',
    'server/core/client-finder.ts',
    negative.authorization('RFC 6749 A.1: a client_id of control characters'),
  ],
  [
    'A.4',
    'A scope has the characters of the grammar only.',
    'server/core/scope-text.ts',
    negative.authorization('RFC 6749 A.4: a line end in scope'),
  ],
  [
    'A.5',
    'An endless state is refused, and not echoed.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 6749 A.5: an endless state, which is not echoed'),
  ],
]
