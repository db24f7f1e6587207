import type { RequirementRow } from '../requirement.ts'
import { core, e2e, edge, flow, http, mcp, negative } from './proof.ts'

/** Its security considerations. */
export const mcpAuthSecurity: readonly RequirementRow[] = [
  [
    'Token-Audience-Binding',
    'No code and no token is given for another resource.',
    'server/core/resource.ts',
    negative.authorization('RFC 8707 2.1: a foreign resource beside ours'),
  ],
  [
    'Token-Audience-Binding',
    'A grant has the one resource as its audience, and its tokens say so when they are looked up.',
    'server/core/introspection.ts',
    core('introspection', 'RFC 7662 2.2: what a token is worth, for a resource server of the operator'),
  ],
  [
    'Token-Theft',
    'What is stored holds no token that could be used.',
    'server/core/token-issue.ts',
    e2e('log-secrecy', 'holds no token, code or password that could be used'),
  ],
  [
    'Token-Theft',
    'What is logged holds none.',
    'server/log-redaction.ts',
    e2e('log-secrecy', 'tells what happened without any of the secrets'),
  ],
  [
    'Token-Theft',
    'Access tokens last an hour.',
    'server/core/token-life.ts',
    http('mcp', 'an access token ends after an hour'),
  ],
  [
    'Token-Theft',
    'Refresh tokens are rotated.',
    'server/core/refresh-token.ts',
    core('refresh-token', 'RFC 6749 6, RFC 9700 4.14.2: a new pair, of which both work'),
  ],
  [
    'Communication-Security',
    'An http `BASE_URL` that is not loopback is refused.',
    'server/config-value.ts',
    edge('config-value', 'http://mcp.example.com'),
  ],
  [
    'Communication-Security',
    'A redirect URI is https, or http on loopback; the deviations name the one exception.',
    'shared/redirect-uri.ts',
    negative.registration('OAuth 2.1 2.3.1: http beyond loopback'),
  ],
  [
    'Authorization-Code-Protection',
    'PKCE with S256 is announced, in the OpenID form of the metadata too.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 8414: %s is the one authorization server document'),
  ],
  [
    'Authorization-Code-Protection',
    'PKCE with S256 is required.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.8.2: no PKCE at all'),
  ],
  [
    'Mix-Up-Attacks',
    'A client that checks `iss` does not redeem what another issuer sent.',
    'server/http/authorization-response.ts',
    e2e('sdk-2026', 'does not redeem a code that another issuer sent'),
  ],
  [
    'Open-Redirection',
    'The redirect URI equals a registered one.',
    'shared/redirect-uri.ts',
    negative.authorization('RFC 9700 4.1.3: a path below the registered one'),
  ],
  [
    'Open-Redirection',
    'Nobody is redirected before client and redirect URI are known to belong together.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.11.2: an unknown client with an address of its own'),
  ],
  [
    'Abuse-Protection',
    'A document is fetched from public addresses alone, and from the one that was checked.',
    'server/guarded-fetch.ts',
    edge('guarded-fetch', 'DNS rebinding: the connection goes to what was checked'),
  ],
  [
    'Localhost-Redirect-URI-Risks',
    'The page shows the host that the browser returns to.',
    'server/http/pages/login-page.ts',
    http('authorize', 'shows who asks, where it returns to, and no way to sign up here'),
  ],
  [
    'Localhost-Redirect-URI-Risks',
    'A request that returns to this computer brings a warning.',
    'server/http/pages/client-facts.ts',
    http('authorize', 'the warning about this computer goes by the address of this request'),
  ],
  [
    'Localhost-Redirect-URI-Risks',
    'The host of a document is not called verified when any program could use its id.',
    'server/http/client-view.ts',
    http('client-view', 'localhost redirects prove nothing: any program can use the id'),
  ],
  [
    'Trust-Policies',
    'The operator can name the hosts whose documents are taken, or refuse some.',
    'server/core/client-finder.ts',
    core('client-finder', 'takes no documents when they are switched off, and forgets the ones it took'),
  ],
  [
    'Confused-Deputy',
    'A request alone sends nothing to the provider: it takes a click on the page that names the client.',
    'server/http/authorize.ts',
    http('login-safety', 'the email field has %j, and a click is needed'),
  ],
  [
    'Confused-Deputy',
    'An earlier consent does not speak for another client, nor for the same one again.',
    'server/http/authorize.ts',
    flow('RFC 6749 10.2: a browser that allowed a client is asked again, by it and by every other'),
  ],
  [
    'Access-Token-Privilege-Restriction',
    'No token of another audience, issuer or client is accepted.',
    'server/provider/gotrue/token-verifier.ts',
    http('mcp', 'refuses a well-signed token with %s'),
  ],
  [
    'Access-Token-Privilege-Restriction',
    'The web app is called with the provider’s own token, which the client never sees.',
    'server/mcp/tool-context.ts',
    mcp('notes-tools', 'call the web app as the user, and nothing else'),
  ],
]
