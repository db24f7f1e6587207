import type { RequirementRow } from '../requirement.ts'
import { core, flow, http, negative, shared } from './proof.ts'

/** Resource requests, security considerations, native apps: sections 5 to 10. */
export const oauth21Security: readonly RequirementRow[] = [
  [
    '5.1',
    'The scheme Bearer is taken in any letter case.',
    'server/core/caller.ts',
    http('mcp', 'the scheme is not case-sensitive'),
  ],
  [
    '5.1',
    'A token in the query is ignored.',
    'server/http/mcp.ts',
    negative.resource('RFC 6750 2.3: a token in the query'),
  ],
  [
    '5.2',
    'What is no access token of ours, in every letter, is refused.',
    'server/core/caller.ts',
    negative.resource('OAuth 2.1 5.2: an access token with one character more'),
  ],
  [
    '5.2',
    'Expiry is checked with every request.',
    'server/core/caller.ts',
    negative.resource('RFC 6750 3.1: an access token after its hour'),
  ],
  [
    '5.2',
    'So is the scope.',
    'server/http/mcp.ts',
    http('mcp', 'a token without the scope of the tools gets 403 with the scope that is missing'),
  ],
  [
    '5.3.1',
    'A challenge names the metadata and the scope, in characters that may stand there.',
    'shared/www-authenticate.ts',
    shared('www-authenticate', 'can always be put in a header and is read back'),
  ],
  [
    '5.3.2',
    'Without a credential no error is named.',
    'server/http/mcp.ts',
    negative.resource('RFC 9728 5.1: no credential at all'),
  ],
  [
    '7.1.3',
    'Access tokens are short-lived.',
    'server/core/token-life.ts',
    http('mcp', 'an access token ends after an hour'),
  ],
  [
    '7.1.3',
    'A token in a cookie counts behind checks against requests of other sites alone.',
    'server/http/guards.ts',
    http('guards', 'mayUseCookie'),
  ],
  [
    '7.3',
    'The person is told who asks, for what and for how long.',
    'server/http/pages/login-page.ts',
    http('login-second-factor', 'shows who asks and for what, and cannot be framed, scripted or cached'),
  ],
  [
    '7.3.1',
    'An earlier consent never answers a later request.',
    'server/http/authorize.ts',
    flow('RFC 6749 10.2: a browser that allowed a client is asked again, by it and by every other'),
  ],
  [
    '7.4',
    'Clients do not choose their id.',
    'server/core/client-registration.ts',
    negative.registration('RFC 7591 3.2.1: the client cannot choose its id'),
  ],
  [
    '7.5.2',
    'PKCE is enforced for confidential clients, too.',
    'server/core/authorization-request.ts',
    flow('OAuth 2.1 7.5.2: PKCE is required of a client with a secret, too'),
  ],
  [
    '7.5.3',
    'A code that comes back ends its grant only when the request is good otherwise.',
    'server/core/authorization-code.ts',
    core('authorization-code', '%s ends nothing: whoever found the code cannot cut its owner off'),
  ],
  [
    '7.5.4',
    'Redirects are 303.',
    'server/http/answer.ts',
    flow('RFC 9700 4.12: follows the posted password by 303, so that no form is sent on'),
  ],
  [
    '7.7',
    'Codes have 256 random bits.',
    'server/core/authorization-code.ts',
    core('authorization-code', 'makes a code of 256 random bits, known to the store by its hash'),
  ],
  [
    '7.7',
    'Passwords cannot be guessed fast: limits for account, address and all together.',
    'server/core/sign-in-limit.ts',
    core('sign-in-limit', 'countSignInAttempt for one account (NIST SP 800-63B section 3.2.2)'),
  ],
  [
    '7.7',
    'A page does not tell which accounts there are.',
    'server/http/login-timing.ts',
    http(
      'authorize',
      'a wrong password, an unknown and a banned account look the same, and keep what was typed',
    ),
  ],
  [
    '7.7',
    'A second factor takes five wrong codes.',
    'server/core/second-factor-step.ts',
    core('second-factor-step', 'the fifth ends the sign-in, whose half-way session is to be signed out'),
  ],
  [
    '7.10',
    'No page of a sign-in can be framed.',
    'server/http/security-headers.ts',
    http(
      'cors-policy',
      '%s as %s cannot be framed, sniffed or leak where it was opened, and names no program',
    ),
  ],
  [
    '7.11',
    'What a request brings onto a page is text there.',
    'server/http/pages/layout.ts',
    http('authorize', 'fills in login_hint and keeps a hostile name in its quotes'),
  ],
  [
    '7.12.2',
    'An address that does not belong to the client is not gone to.',
    'server/core/authorization-request.ts',
    core('authorization-request', 'never a redirect before client and redirect URI are known'),
  ],
  [
    '7.13.1',
    'The issuer is in every answer.',
    'server/http/authorization-response.ts',
    http('authorize', '%s goes back to the client with state and iss (RFC 9207)'),
  ],
  [
    '8.1',
    'What kind of client it is, is kept with it.',
    'server/core/client-registration.ts',
    core(
      'client-registration',
      '3.2.1: a public client gets an id and everything that was registered, and no secret',
    ),
  ],
  [
    '8.4.2',
    'Any port of a loopback address is good.',
    'shared/redirect-uri.ts',
    shared('redirect-uri', 'another port on 127.0.0.1 (RFC 8252 section 7.3)'),
  ],
  [
    '10.1',
    'Answers with tokens in them do not exist.',
    'server/core/authorization-request.ts',
    negative.authorization('OAuth 2.1 10.1: the hybrid flow'),
  ],
]
