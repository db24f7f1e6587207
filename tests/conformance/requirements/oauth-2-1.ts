import { requirementDocument } from '../requirement.ts'
import { oauth21Security } from './oauth-2-1-security.ts'
import { core, e2e, edge, flow, http, negative, shared } from './proof.ts'

/** The framework as it is now. */
export const oauth21 = requirementDocument('OAuth 2.1', 'The OAuth 2.1 Authorization Framework, draft 13', [
  [
    '1.4',
    'Tokens cannot be guessed or changed into others.',
    'server/core/token-issue.ts',
    core('token-issue', 'stores keys of two tokens with 256 random bits each, behind the time of issue'),
  ],
  [
    '1.4.1',
    'A request without a scope gets a known one.',
    'server/core/scope.ts',
    core('scope', 'nothing asked'),
  ],
  [
    '1.5',
    'Every URL of the server is https, unless it is on loopback.',
    'server/config-value.ts',
    edge('config-value', 'http://mcp.example.com'),
  ],
  [
    '1.5',
    'Certificates are checked where the server is a client.',
    'server/guarded-fetch.ts',
    edge('guarded-fetch', 'a certificate for another name, or of nobody, is no connection'),
  ],
  [
    '2.2',
    'The id of a client with credentials proves nothing by itself.',
    'server/core/client-authentication.ts',
    core('client-authentication', 'a confidential client without its secret'),
  ],
  [
    '2.3',
    'A redirect URI is absolute and has no fragment.',
    'shared/redirect-uri.ts',
    negative.registration('OAuth 2.1 2.3: a fragment'),
  ],
  [
    '2.3',
    'A query of the redirect URI is kept.',
    'server/http/authorization-response.ts',
    flow('RFC 6749 3.1.2: keeps the query that the redirect URI has'),
  ],
  [
    '2.3.1',
    'Whole redirect URIs are registered, and matched exactly.',
    'shared/redirect-uri.ts',
    negative.authorization('OAuth 2.1 2.3.1: http for https'),
  ],
  [
    '2.3.1',
    'Private-use schemes cannot be registered, the listed URIs aside.',
    'shared/redirect-uri.ts',
    negative.registration('RFC 8252 7.1: a private-use scheme that nobody allowed'),
  ],
  [
    '2.3.2',
    'A client with several redirect URIs says which one.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 6749 3.1.2.3: no redirect_uri of a client with several'),
  ],
  [
    '2.3.5',
    'A bad redirect URI is told to the person, and not followed.',
    'server/http/stranded-page.ts',
    http('authorize', 'RFC 6749 4.1.2.1: %s is a page, never a redirect'),
  ],
  [
    '2.4',
    'One request, one way to prove a client.',
    'server/http/client-authentication.ts',
    negative.client('RFC 6749 2.3: two methods at once'),
  ],
  [
    '2.4.1',
    'The secret is taken from the form, and by Basic with form-encoded parts.',
    'server/http/client-authentication.ts',
    http('client-authentication', 'property: what a client encodes is what is read, for every id and secret'),
  ],
  [
    '2.4.1',
    'A secret in the query does not count.',
    'server/http/client-authentication.ts',
    negative.client('RFC 6749 2.3.1: the secret in the query does not count'),
  ],
  [
    '2.4.1',
    'Failed requests for tokens are limited for each address.',
    'server/load-shedding.ts',
    edge('load-shedding', 'token requests count apart, so that a valid refresh is still judged'),
  ],
  [
    '2.4.1',
    'A secret that the operator chooses cannot be short.',
    'server/client-file.ts',
    edge('client-file', 'client_secret must be random'),
  ],

  [
    '3.1',
    'Unknown parameters are ignored, empty ones count as left out.',
    'server/core/authorization-request.ts',
    core('authorization-request', 'RFC 6749 3.1: empty optional parameters count as omitted'),
  ],
  [
    '3.1',
    'The authorization endpoint has no CORS.',
    'server/http/cors.ts',
    http('cors-policy', 'what no page of another origin may read'),
  ],
  [
    '3.2',
    'Pages may use the token endpoint, without cookies.',
    'server/http/cors.ts',
    negative.token('OAuth 2.1 3.2: every page may ask, and no cookie goes with it'),
  ],
  [
    '3.2',
    'Tokens are asked for by POST.',
    'server/http/token.ts',
    negative.token('RFC 6749 3.2: GET, which would put the code into a URL'),
  ],
  [
    '3.2.1',
    'A client that has credentials proves itself.',
    'server/core/client-authentication.ts',
    negative.client('RFC 6749 3.2.1: a client with a secret comes without it'),
  ],
  [
    '3.2.3',
    'The answer says how long the token lasts and what scope it has.',
    'server/core/token-issue.ts',
    http('token', 'answers tokens that no cache keeps'),
  ],
  [
    '3.2.3',
    'The refresh token is bound to scope and resource of the consent.',
    'server/core/refresh-token.ts',
    negative.refresh('RFC 8707 2.2: a foreign resource, before anything is rotated'),
  ],
  [
    '3.2.4',
    'Errors are JSON with a registered code, and a description of allowed characters.',
    'shared/oauth-error.ts',
    shared('oauth-error', 'error_description has the characters of RFC 6749 section 5.2 only'),
  ],
  [
    '4.1.1',
    'Only the answer in the query is given.',
    'server/core/authorization-request.ts',
    negative.authorization('OAuth 2.1 4.1.1: an unknown response_mode'),
  ],
  [
    '4.1.1',
    'A request gets no code before a person has acted.',
    'server/http/authorize.ts',
    http('login-safety', 'the email field has %j, and a click is needed'),
  ],
  [
    '4.1.2',
    'No code goes into a fragment.',
    'server/core/authorization-request.ts',
    negative.authorization('OAuth 2.1 4.1.2: response_mode=fragment'),
  ],
  [
    '4.1.2',
    'A code lasts 60 seconds.',
    'server/core/authorization-code.ts',
    http('token', 'a code lasts 60 seconds'),
  ],
  [
    '4.1.2',
    'A code is bound to client, redirect URI and challenge.',
    'server/core/authorization-code.ts',
    core('authorization-code', '%s is refused and does not use the code up'),
  ],
  [
    '4.1.2.1',
    'A request without a challenge, or with another method than S256, is `invalid_request`.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 7636 4.4.1: no code_challenge'),
  ],
  [
    '4.1.3',
    'A code gives tokens once, however many ask at the same moment.',
    'server/core/authorization-code.ts',
    e2e('concurrency', 'with one code exactly one gets tokens, and they work'),
  ],
  [
    '4.1.3',
    'The redirect URI may be left out at the token endpoint.',
    'server/core/authorization-code.ts',
    http('token', 'accepts the redirect URI left out (OAuth 2.1) and the resource with a slash'),
  ],
  [
    '4.3',
    'A refresh token is bound to its client.',
    'server/core/refresh-token.ts',
    negative.refresh('RFC 6749 10.4: the refresh token of another client'),
  ],
  [
    '4.3.1',
    'Each refresh gives a new refresh token, and reuse is noticed.',
    'server/core/refresh-token.ts',
    core('refresh-token', 'RFC 9700 4.14.2: again after 121 s the connection ends, for thief and owner'),
  ],
  [
    '4.3.1',
    'No token is given for a grant that has ended.',
    'server/core/refresh-token.ts',
    core('refresh-token', 'a grant that ends between look-up and rotation is invalid_grant'),
  ],
  [
    '4.3.3',
    'The new refresh token has the scope of the old one, also when the access token is narrower.',
    'server/core/refresh-token.ts',
    core('refresh-token', 'RFC 6749 6: a narrowed token does not narrow the refresh token'),
  ],

  ...oauth21Security,
])
