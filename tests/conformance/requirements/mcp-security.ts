import { requirementDocument } from '../requirement.ts'
import { core, e2e, edge, flow, http, mcp, negative } from './proof.ts'

/** The security best practices of the Model Context Protocol, whose headings are the sections. */
export const mcpSecurity = requirementDocument(
  'MCP security',
  'Model Context Protocol, Security Best Practices',
  [
    [
      'Confused-Deputy',
      'Each request of each client is allowed by a person, before the provider hears of it.',
      'server/http/authorize.ts',
      flow('RFC 6749 10.2: a browser that allowed a client is asked again, by it and by every other'),
    ],
    [
      'Confused-Deputy',
      'The page names the client and the address it returns to.',
      'server/http/pages/login-page.ts',
      http('authorize', 'shows who asks, where it returns to, and no way to sign up here'),
    ],
    [
      'Confused-Deputy',
      'It says what the client will be allowed to do.',
      'server/http/pages/permission-list.ts',
      edge('http/pages/login-page', 'permissions'),
    ],

    [
      'Confused-Deputy',
      'Names that clients give themselves cannot pass for anything else on the page.',
      'server/http/pages/claimed-name.ts',
      edge('http/pages/claimed-name', 'direction overrides and isolates'),
    ],
    [
      'Confused-Deputy',
      'A form is good in the browser that opened it, and nowhere else.',
      'server/core/sign-in-transaction.ts',
      http('authorize', 'login CSRF: a page of one browser is useless in another'),
    ],
    [
      'Confused-Deputy',
      'A form of another site is refused.',
      'server/http/guards.ts',
      http('authorize', 'refuses a form sent from %s'),
    ],
    [
      'Confused-Deputy',
      'No page can be put into a frame.',
      'server/http/security-headers.ts',
      http(
        'cors-policy',
        '%s as %s cannot be framed, sniffed or leak where it was opened, and names no program',
      ),
    ],
    [
      'Confused-Deputy',
      'The cookie of the browser is `__Host-`, Secure, HttpOnly and Lax.',
      'server/http/browser-binding.ts',
      http('cors-policy', 'the binding cookie is of the host as a whole, as its prefix demands'),
    ],
    [
      'Confused-Deputy',
      'What ties a way to the provider to the browser is made after the click, and not before.',
      'server/core/sign-in.ts',
      flow('MCP security Confused-Deputy: nothing is kept for the way to the provider before the click'),
    ],
    [
      'Confused-Deputy',
      'It is good once.',
      'server/core/sign-in.ts',
      core('sign-in', 'fifty returns with one code: one signs in'),
    ],
    [
      'Confused-Deputy',
      'It is good for ten minutes.',
      'server/core/sign-in.ts',
      core('sign-in', 'a return after %i s: %s'),
    ],

    [
      'Confused-Deputy',
      'It is good in that browser alone: a finished sign-in of somebody else does not complete.',
      'server/core/sign-in.ts',
      core('sign-in', "an attacker's finished sign-in does not complete in the victim's browser"),
    ],
    [
      'Confused-Deputy',
      'To an OpenID provider go a fresh `state` and nonce.',
      'server/provider/oidc/sign-in.ts',
      [
        'server/provider/oidc/sign-in.test.ts',
        'asks for a code with PKCE, state and nonce, and keeps their secrets out of the URL',
      ],
    ],
    [
      'Confused-Deputy',
      'A return with another `state` is refused.',
      'server/provider/oidc/sign-in.ts',
      edge('provider/oidc/sign-in', 'another state'),
    ],
    [
      'Confused-Deputy',
      'The redirect URI equals a registered one, without patterns.',
      'shared/redirect-uri.ts',
      negative.authorization('RFC 9700 4.1.3: one parameter more'),
    ],
    [
      'Token-Passthrough',
      'The token of a client is never passed on; the web app gets another one.',
      'server/core/caller.ts',
      core('caller', 'MCP authorization, token passthrough: %s is never shown to the provider'),
    ],
    [
      'Token-Passthrough',
      'The provider’s token goes with requests of a tool to its own origin alone.',
      'server/mcp/tool-context.ts',
      mcp('tool-context', 'does not go to %s, and neither does the API key'),
    ],
    [
      'Token-Passthrough',
      'It goes over no redirect.',
      'server/mcp/tool-context.ts',
      mcp('tool-context', 'follows no redirect'),
    ],

    [
      'Token-Passthrough',
      'Tokens that were not issued for `/mcp` can be refused altogether.',
      'server/core/caller.ts',
      core('caller', 'is invalid and not even looked at when switched off'),
    ],
    [
      'SSRF',
      'Documents and keys are fetched by https; http on loopback in development alone.',
      'server/guarded-fetch.ts',
      edge('guarded-fetch', 'only https, and no credentials: %s'),
    ],
    [
      'SSRF',
      'No private, reserved or local address is reached, in whatever spelling.',
      'server/guarded-fetch-address.ts',
      edge('guarded-fetch', 'an address or local name in the URL is never reached: %s'),
    ],
    [
      'SSRF',
      'Every address of a name is public, else none is tried.',
      'server/guarded-fetch.ts',
      edge('guarded-fetch', 'all addresses of the answer must be public: %s'),
    ],
    [
      'SSRF',
      'The connection goes to the address that was checked.',
      'server/guarded-fetch.ts',
      edge('guarded-fetch', 'DNS rebinding: the connection goes to what was checked'),
    ],
    [
      'SSRF',
      'No redirect is followed.',
      'server/guarded-fetch-response.ts',
      edge('guarded-fetch', 'a redirect'),
    ],
    [
      'Session-Hijacking',
      'A session id proves nothing: without a token it is 401.',
      'server/http/mcp.ts',
      flow('MCP security Session-Hijacking: is no credential'),
    ],
    [
      'Session-Hijacking',
      'Session ids are random.',
      'server/mcp/session-leg.ts',
      mcp('session-leg', 'begins with initialize, has an id that cannot be guessed, and ends with DELETE'),
    ],
    [
      'Session-Hijacking',
      'A session belongs to its grant: for everybody else it does not exist.',
      'server/mcp/session-table.ts',
      mcp('session-table', 'are found by their owner alone (MCP security best practices, session hijacking)'),
    ],
    [
      'Session-Hijacking',
      'So it is for an unmodified client, by every method.',
      'server/mcp/session-leg.ts',
      e2e('sdk-sessions', 'a session id is of no use with the token of another user'),
    ],
    [
      'Session-Hijacking',
      'Sessions that nobody uses end.',
      'server/mcp/session-table.ts',
      mcp('session-leg', 'counts none that is idle for half an hour'),
    ],
    [
      'Local-Server',
      'A server on this machine asks for a token, and answers no other host name.',
      'server/http/guards.ts',
      negative.resource('RFC 9110 7.4: a call for another host'),
    ],
    [
      'Scope-Minimization',
      'Who asks for no scope gets the smallest one.',
      'server/core/scope.ts',
      core('scope', 'nothing asked'),
    ],
    [
      'Scope-Minimization',
      'A scope of a tool is asked for when the tool is called, and for that tool.',
      'server/http/mcp.ts',
      http('mcp-scope', 'is asked for (RFC 6750 section 3.1, MCP step-up)'),
    ],
  ],
)
