import { requirementDocument } from '../requirement.ts'
import { core, e2e, edge, http, negative, shared, transport } from './proof.ts'

/** What was asked for. */
export const spec = requirementDocument('Spec', 'MCP endpoint authentication', [
  [
    '1',
    '`/mcp` speaks JSON-RPC 2.0 over HTTP and answers a bare `tools/list`.',
    'server/mcp/endpoint.ts',
    http('mcp', 'a bare tools/list, as the requirement shows it, is answered with JSON'),
  ],
  [
    '1',
    'The same server is the authorization server that gives out what `/mcp` takes.',
    'server/app.ts',
    [
      'server/app.test.ts',
      'registers, signs in with the password, redeems the code and calls tools as the user',
    ],
  ],
  [
    '1',
    'People sign in at an external session provider, and tools run as them.',
    'server/open-provider.ts',
    e2e('supabase', 'signs in with a password; only tools that any web app has are offered'),
  ],
  [
    '2',
    'The id of a request, a text or a number, comes back with its answer.',
    'shared/json-rpc.ts',
    transport('a request of 2026-07-28 that is refused, with its own id'),
  ],
  [
    '2',
    'A body that is no JSON-RPC 2.0 request is refused with a JSON-RPC error.',
    'shared/json-rpc.ts',
    http('mcp', '%s is 400 with a JSON-RPC error'),
  ],
  [
    '4',
    'A POST with exactly the headers of this section is answered.',
    'server/http/mcp.ts',
    e2e('session-cookie', 'lists the tools with exactly the headers of section 4'),
  ],
  [
    '4',
    'An answer may be a stream of events, which the client accepts beside JSON.',
    'server/mcp/sdk-endpoint.ts',
    transport('holds notifications of this request, and ends with its response'),
  ],
  [
    '4',
    '`/mcp` is called by POST: a signed-in GET or DELETE is 405.',
    'server/http/mcp.ts',
    http('mcp', '%s is 405 for a signed-in caller'),
  ],
  [
    '4',
    '`GET /oauth/authorize` shows the login page.',
    'server/http/authorize.ts',
    http('authorize', 'shows who asks, where it returns to, and no way to sign up here'),
  ],
  [
    '4',
    'The login page has no sign-up form.',
    'server/http/pages/login-page.ts',
    edge('http/pages/login-page', 'there is no sign-up form'),
  ],
  [
    '5.1',
    'An access token of the session provider is a bearer token of `/mcp`, and tools act as its user.',
    'server/core/caller.ts',
    http('mcp', 'requirement 5.4: lists the tools, and acts as its user'),
  ],
  [
    '5.1',
    'A token of the provider counts only with its signature, issuer, audience, time and a person’s own session.',
    'server/provider/gotrue/token-verifier.ts',
    http('mcp', 'refuses a well-signed token with %s'),
  ],
  [
    '5.1',
    'A forged token of the provider is refused.',
    'server/provider/gotrue/token-verifier.ts',
    http('mcp', 'refuses a token signed with %s'),
  ],
  [
    '5.2',
    'An unmodified MCP client finds everything from the first 401, opens a browser, and is connected.',
    'server/http/metadata.ts',
    e2e('sdk-2026', 'registers, signs in, lists and calls tools'),
  ],
  [
    '5.2',
    'No code is given without PKCE.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.8.2: no PKCE at all'),
  ],
  [
    '5.2',
    'Email and password of an account sign in.',
    'server/core/sign-in.ts',
    [
      'server/app.test.ts',
      'registers, signs in with the password, redeems the code and calls tools as the user',
    ],
  ],
  [
    '5.2',
    'Signing in with Google goes through the provider and returns to the client without another click.',
    'server/http/callback.ts',
    http('callback', 'goes to the provider and comes back to the client without another click'),
  ],
  [
    '5.2',
    'Who has no account is led to the web app.',
    'server/http/pages/login-page.ts',
    http('authorize', 'shows who asks, where it returns to, and no way to sign up here'),
  ],
  [
    '5.3',
    'Without an `Authorization` header the session cookie of the provider is used.',
    'server/http/mcp.ts',
    http('mcp', 'requirement 5.3: is used when there is no Authorization header, %s'),
  ],
  [
    '5.3',
    'With any `Authorization` header the cookie is not looked at.',
    'server/http/mcp.ts',
    http('mcp', 'never helps a bad header: %s is 401'),
  ],
  [
    '5.3',
    'A session that is split over numbered cookies is joined in the order of the numbers.',
    'shared/session-cookie.ts',
    shared('session-cookie', 'chunks in numeric order, whatever the order sent'),
  ],
  [
    '5.3',
    'Each value is URL-decoded before they are joined.',
    'shared/session-cookie-decode.ts',
    shared('session-cookie', 'is applied to each chunk, before joining'),
  ],
  [
    '5.3',
    'Behind `base64-` comes base64, else JSON; `access_token` of that object is the token.',
    'shared/session-cookie-decode.ts',
    shared('session-cookie', 'rule 4: decoding one candidate'),
  ],
  [
    '5.4',
    'A token that a person takes out of the cookies works as a bearer token.',
    'server/core/caller.ts',
    e2e('session-cookie', 'is found when the session is split over several cookies'),
  ],
  [
    '5.4',
    'Such a token ends by itself and is never renewed.',
    'server/core/caller.ts',
    http('mcp', 'is refused once it has expired, and is never refreshed'),
  ],
  [
    '8',
    'A connection lasts 30 days on one sign-in.',
    'server/core/refresh-token.ts',
    core(
      'thirty-days',
      'thirty days on one sign-in: a call at least every forty minutes, the last second included',
    ),
  ],
  [
    '8',
    'The provider’s token underneath is renewed without the client’s doing, once for all who wait.',
    'server/core/session-keeper.ts',
    http('mcp', 'fifty calls when it has expired cause one refresh and fifty answers'),
  ],
  [
    '8',
    'While the provider is away nobody has to sign in again.',
    'server/core/session-keeper.ts',
    http(
      'mcp',
      'an outage is served from the token that still lives, then 503 without a challenge, never a logout',
    ),
  ],
  [
    '9',
    'The authorization server follows OAuth 2.1: a strict library goes the whole way with every check on.',
    'server/app.ts',
    e2e('openid-client', 'goes the whole way, every check on'),
  ],
])
