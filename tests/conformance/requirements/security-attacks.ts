import type { RequirementRow } from '../requirement.ts'
import { core, e2e, edge, flow, http, negative } from './proof.ts'

/** Attacks and mitigations: section 4. */
export const securityAttacks: readonly RequirementRow[] = [
  [
    '4.1.3',
    'What only resembles a registered redirect URI is none: host, path, query, letter case, encoding.',
    'shared/redirect-uri.ts',
    negative.authorization('RFC 9700 4.1.3: an encoded letter in the path'),
  ],
  [
    '4.1.3',
    'Addresses that run script, or that browsers read otherwise, cannot be registered.',
    'shared/redirect-uri.ts',
    negative.registration('RFC 9700 4.1.3: a script'),
  ],
  [
    '4.2.4',
    'No page gives its address away to another site.',
    'server/http/security-headers.ts',
    negative.authorization('RFC 9700 4.2.4: no address of the login page goes to another site'),
  ],
  [
    '4.2.4',
    'Pages reach for nothing from elsewhere.',
    'server/http/pages/layout.ts',
    edge('http/pages/layout', 'reaches for no address but the ones it was given'),
  ],
  [
    '4.3.1',
    'A code from the history of a browser is of no use: it counts once.',
    'server/core/authorization-code.ts',
    negative.token('RFC 6749 4.1.2: a code a second time, at once'),
  ],
  [
    '4.3.2',
    'A token in an address is not looked at.',
    'server/http/mcp.ts',
    negative.resource('RFC 6750 2.3: a token in the query'),
  ],
  [
    '4.4.2.1',
    'The issuer is in every answer, and in the metadata the same.',
    'server/http/authorization-response.ts',
    e2e('openid-client', 'goes the whole way, every check on'),
  ],
  [
    '4.5.3',
    'A code that was put into another session is refused for its verifier.',
    'server/core/authorization-code.ts',
    core(
      'authorization-code',
      'RFC 9700 4.5: an injected code is useless without its verifier, even to the same client',
    ),
  ],
  [
    '4.5.3',
    'The code of somebody else is of no use without the verifier.',
    'server/core/authorization-code.ts',
    negative.token('RFC 9700 4.5.3: the code of somebody else, without the verifier'),
  ],
  [
    '4.7.1',
    'Forms of other sites are refused.',
    'server/http/guards.ts',
    negative.authorization('RFC 9700 4.7.1: a form that another site posts'),
  ],
  [
    '4.7.1',
    'A form belongs to the browser that opened it.',
    'server/core/sign-in-transaction.ts',
    core('sign-in-transaction', 'RFC 9700 4.7: is useless in %s'),
  ],
  [
    '4.7.1',
    'A second factor is taken from the browser that gave the first.',
    'server/core/second-factor-step.ts',
    core(
      'second-factor-step',
      'RFC 9700 4.7: another browser cannot make the second step, and does not disturb it',
    ),
  ],
  [
    '4.8.2',
    'A request without PKCE gets no code, so no verifier can be left out later.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.8.2: no PKCE at all'),
  ],
  [
    '4.9.3',
    'Tokens are stored as hashes, those of the provider sealed.',
    'server/core/session-seal.ts',
    e2e('log-secrecy', 'holds no token, code or password that could be used'),
  ],
  [
    '4.10.2',
    'An access token is random bits: it says nothing at any other server, and this one has a single resource.',
    'server/core/token-issue.ts',
    core('token-issue', 'stores keys of two tokens with 256 random bits each, behind the time of issue'),
  ],
  [
    '4.11.2',
    'Nobody is redirected to an address that does not belong to the client.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.11.2: an unknown client with an address of its own'),
  ],
  [
    '4.11.2',
    'Nor by another fault of the same request, `prompt=none` among them.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.11.2: a bad address beside prompt=none'),
  ],
  [
    '4.12',
    'The browser goes on from the login form by 303.',
    'server/http/answer.ts',
    flow('RFC 9700 4.12: follows the posted password by 303, so that no form is sent on'),
  ],
  [
    '4.12',
    'So it does when a request is refused.',
    'server/http/answer.ts',
    negative.authorization('RFC 9700 4.12: the browser goes on by GET, never with its form'),
  ],
  [
    '4.13',
    'Headers about the client count from named proxies alone.',
    'server/http/client-address.ts',
    http('client-address', 'a proxy that is not trusted is who it is'),
  ],
  [
    '4.13',
    'No header changes host or scheme of the server.',
    'server/http/metadata.ts',
    http('metadata', 'the issuer is configuration: Host and forwarding headers do not change it'),
  ],
  [
    '4.14',
    'A refresh token opens nothing but the token endpoint.',
    'server/core/caller.ts',
    negative.resource('RFC 9700 4.14: a refresh token is no access token'),
  ],
  [
    '4.14',
    'The owner is told when a connection ended because its key was used twice.',
    'server/core/connection.ts',
    edge('http/pages/connections-page', 'RFC 9700 4.14: a key that was used twice'),
  ],
  [
    '4.14.2',
    'A refresh token is used by its client alone.',
    'server/core/refresh-token.ts',
    negative.refresh('RFC 6749 10.4: the refresh token of another client'),
  ],
  [
    '4.14.2',
    'A used refresh token that comes back later ends the connection, for thief and owner.',
    'server/core/refresh-token.ts',
    negative.refresh('RFC 9700 4.14.2: a used refresh token, later: everything of the connection is over'),
  ],
  [
    '4.14.2',
    'Refresh tokens end 30 days after the sign-in, used or not.',
    'server/core/refresh-token.ts',
    negative.refresh('RFC 9700 4.14.2: a refresh token after 30 days, however often it was renewed'),
  ],
  [
    '4.14.2',
    'The scope of a refresh token does not grow.',
    'server/core/scope.ts',
    core('scope', 'never widens'),
  ],
  [
    '4.14.2',
    'Signing out at the provider, or a ban, ends the connection.',
    'server/core/session-keeper.ts',
    http('mcp', 'a session that the provider ended is 401, and the refresh token says invalid_grant'),
  ],
  [
    '4.15.1',
    'Ids of clients and of people are told apart: a lookup has both, by name.',
    'server/core/introspection.ts',
    core('introspection', 'RFC 7662 2.2: what a token is worth, for a resource server of the operator'),
  ],
  [
    '4.16',
    'No page can be framed, by policy and by header.',
    'server/http/pages/layout.ts',
    negative.authorization('RFC 9700 4.16: the login page cannot be framed'),
  ],
  [
    '4.16',
    'A browser keeps to that.',
    'server/http/pages/layout.ts',
    e2e('chromium', 'the login page does not load inside a frame of another page'),
  ],
  [
    '4.17',
    'No answer goes from window to window.',
    'server/core/authorization-request.ts',
    negative.authorization('OAuth 2.1 4.1.1: an unknown response_mode'),
  ],
]
