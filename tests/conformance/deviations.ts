import type { Deviation } from './section.ts'

/** Rules that are not followed to the letter, each with its reason. */
export const deviations: readonly Deviation[] = [
  {
    sections:
      'MCP auth Access-Token-Privilege-Restriction and Token-Handling, MCP security Token-Passthrough',
    what: '`/mcp` takes access tokens of the session provider, as bearer and in the session cookie, beside its own.',
    why: 'It was asked for (Spec 5.1, 5.3, 5.4). They are a kind of credential of their own: verified for this provider, audience and a person’s own session, never refreshed, never given to anybody but the provider and the web app behind the tools. The cookie is behind checks of origin, fetch metadata and content type.',
    off: '`SESSION_TOKENS=off`',
    test: [
      'server/core/tokens/caller-reader.test.ts',
      'a provider token is invalid, and not looked at, when provider tokens are switched off',
    ],
  },
  {
    sections: 'RFC 9700 4.11.2, OAuth 2.1 7.12.2, MCP auth Open-Redirection',
    what: 'A faulty request, `prompt=none` among the faults, goes back to the registered address of the client at once, before anybody has signed in, when the client is configured, has a metadata document, returns to this computer, or is one that somebody has signed in with. Any other gets a page with a link.',
    why: 'Clients learn their mistakes by it (RFC 6749 4.1.2.1), and nothing secret goes along.',
    off: '`REGISTRATION=off`, with `CLIENT_DOCUMENTS=off` or a list of hosts: then the operator knows every client.',
    test: ['tests/conformance/negative-authorization.test.ts', 'the implicit grant'],
  },
  {
    sections: 'RFC 8252 7.1, OAuth 2.1 2.3.1 and 8.4.3, MCP auth Communication-Security',
    what: 'One redirect URI of a private-use scheme without a domain name is registered on request: that of Cursor.',
    why: 'That client has no other. The whole URI has to be equal; no scheme is allowed as such, and metadata documents cannot name it.',
    off: '`PRIVATE_USE_REDIRECT_URIS=,`: a list without entries.',
    test: ['tests/conformance/sign-in-flow.test.ts', 'a list without entries allows no private-use scheme'],
  },
  {
    sections: 'RFC 8252 8.3, OAuth 2.1 8.4.2',
    what: '`localhost` counts as loopback, so its port is free as that of 127.0.0.1 and [::1] is.',
    why: 'Clients in the field register that name. It is another host than 127.0.0.1 all the same, and the page warns of programs on this computer.',
    off: 'Cannot be switched off.',
    test: ['shared/oauth/redirect-uri.test.ts', 'another port on localhost'],
  },
  {
    sections: 'RFC 9700 2.1, CIMD 4.5',
    what: 'Whoever returns to loopback by http is taken for a native app, whatever its `application_type` says.',
    why: 'Nothing but a program on that computer can be reached there, and clients leave the member out or get it wrong.',
    off: 'Cannot be switched off.',
    test: ['server/core/clients/client-registration.test.ts', 'application_type changes nothing'],
  },
  {
    sections: 'RFC 9700 2.2.1, OAuth 2.1 1.4.3',
    what: 'Access tokens are bearer tokens: they are not bound to a key of the client.',
    why: 'No MCP client of today sends proofs of possession. Tokens last an hour, are for one resource, and end at once with their grant.',
    off: 'Cannot be switched off.',
    test: ['server/http/oauth/metadata.test.ts', '%s is the one authorization server document'],
  },
  {
    sections: 'RFC 9700 4.14.2, OAuth 2.1 4.3.1',
    what: 'A refresh token that was used gives the same answer again for 120 seconds while its successor is unused, and for 10 seconds after the first use of its successor; only later use ends the grant.',
    why: 'Clients refresh in several processes at once, and answers get lost. Each token has a single successor, which only the token itself can open. Each such answer is logged and counted, and shown to the owner of the connection.',
    off: 'Cannot be switched off.',
    test: [
      'server/http/oauth/token-replay.test.ts',
      'a used refresh token works for ten seconds more once its successor is in use at /mcp',
    ],
  },
  {
    sections: 'RFC 6749 4.1.2, OAuth 2.1 4.1.3',
    what: 'A code that comes back within ten seconds is refused, and ends nothing yet.',
    why: 'A request that was sent twice by the network would cut off the client that it came from.',
    off: 'Cannot be switched off.',
    test: ['server/core/authorization/authorization-code.test.ts', 'after ten seconds'],
  },
  {
    sections: 'RFC 9700 4.14.2, OAuth 2.1 4.3.3',
    what: 'Refresh tokens have no shorter end for clients that are idle: all end with their grant.',
    why: 'A connection was promised for 30 days (Spec 8). People see when each was used last, and can end it.',
    off: '`SESSION_TTL` shortens it for everybody.',
    test: [
      'tests/conformance/negative-refresh.test.ts',
      'a refresh token after 30 days, however often it was renewed',
    ],
  },
  {
    sections: 'RFC 6749 6, OAuth 2.1 4.3.1',
    what: 'Scopes beyond the grant are left out of a refresh instead of refused, and unknown ones at authorization as well.',
    why: 'Clients ask for OpenID scopes by habit. Nothing is gained by it, and the answer names what was given.',
    off: 'Cannot be switched off.',
    test: ['server/core/tokens/scope.test.ts', 'only unknown ones, as once at authorization'],
  },
  {
    sections: 'MCP security Confused-Deputy',
    what: 'No consent is remembered: there is no list of clients that a person has approved.',
    why: 'Every request is asked about, which is stricter, and signing in is the same click.',
    off: 'Nothing to switch off.',
    test: [
      'tests/conformance/sign-in-flow.test.ts',
      'a browser that allowed a client is asked again, by it and by every other',
    ],
  },
  {
    sections: 'MCP security Confused-Deputy',
    what: 'At a provider with the API of Supabase Auth the way back has no `state` of ours.',
    why: 'That API keeps its own and passes none on. The way back is bound to the browser by a `__Host-` cookie and by PKCE, whose verifier never leaves the server; an OpenID provider gets `state` and nonce.',
    off: '`PROVIDER=oidc`',
    test: [
      'server/core/sign-in/sign-in.test.ts',
      "an attacker's finished sign-in does not complete in the victim's browser",
    ],
  },
  {
    sections: 'CIMD 4.4',
    what: 'A document that could not be had, or is faulty, is not asked for again for a minute; one that was good serves for a day while its host is away, and for as long as somebody is connected at the token endpoint.',
    why: 'Otherwise anybody could make the server ask a host without end, and an outage at a client’s host would sign people out.',
    off: '`CLIENT_DOCUMENTS=off`',
    test: [
      'server/core/clients/client-finder.test.ts',
      'a document is not requested again for a minute after %s',
    ],
  },
  {
    sections: 'CIMD 4.2',
    what: 'There is no service that keeps documents for developers.',
    why: 'It would be a place where anybody puts pages. A server on loopback fetches documents from loopback.',
    off: 'Cannot be switched off.',
    test: [
      'server/startup/open-clients.test.ts',
      'MCP auth Client-ID-Metadata-Documents: signs in without registration, and refreshes while its host is away for months',
    ],
  },
  {
    sections: 'RFC 6749 3.1, OAuth 2.1 1.5, CIMD 6.5',
    what: 'On loopback everything works by http, documents of clients on loopback among it.',
    why: 'To try it out and to develop. Under any other address the server does not start without https, and nothing on loopback is fetched.',
    off: 'An https `BASE_URL`.',
    test: [
      'server/startup/open-clients.test.ts',
      'in production nothing on loopback is fetched, and nowhere the server itself',
    ],
  },
  {
    sections: 'RFC 6750 3.1',
    what: 'A header of another scheme, or of no form, is answered as a bad token: 401 with `invalid_token`.',
    why: 'Whoever sends a credential that does not count should hear of it; without any credential no error is named.',
    off: 'Cannot be switched off.',
    test: ['tests/conformance/negative-resource.test.ts', 'another scheme'],
  },
  {
    sections: 'RFC 6749 2.3.1',
    what: 'A Basic header whose parts were not form-encoded is read as it is, where that has one meaning only.',
    why: 'Many clients leave the encoding out.',
    off: 'Cannot be switched off.',
    test: ['server/http/oauth/client-credentials.test.ts', 'a secret with a colon that was not encoded'],
  },
  {
    sections: 'MCP transport Protocol-Version-Header',
    what: 'A message of an earlier revision that comes with the version header of 2026-07-28, and with nothing else of it, is served as what it is.',
    why: 'Hosted assistants send that header after they have agreed on an earlier revision. Anything else of 2026-07-28 in the request makes all of its rules count.',
    off: 'Cannot be switched off.',
    test: [
      'server/http/mcp/mcp-gate.test.ts',
      'a version header of 2026-07-28 is ignored on an older message',
    ],
  },
  {
    sections: 'MCP auth Scope-Challenge-Handling',
    what: 'The scope of a 403 names what the token has already, beside what the operation takes.',
    why: 'A client that asks for exactly what the challenge says loses nothing.',
    off: 'Cannot be switched off.',
    test: ['server/http/mcp/mcp-scope.test.ts', 'is asked for (RFC 6750 section 3.1, MCP step-up)'],
  },
  {
    sections: 'RFC 9700 4.16, OAuth 2.1 7.10',
    what: 'No origin can be allowed to frame the pages.',
    why: 'There is no client that needs it.',
    off: 'Cannot be switched off.',
    test: [
      'tests/conformance/negative-authorization.test.ts',
      'RFC 9700 4.16, RFC 6749 10.13: the login page cannot be framed',
    ],
  },
  {
    sections: 'RFC 8414 5',
    what: 'The document under the OpenID names is that of RFC 8414: there are no ID tokens, and no keys for them.',
    why: 'Clients look there for an authorization server. It promises nothing that is not there.',
    off: 'Cannot be switched off.',
    test: ['server/http/oauth/metadata.test.ts', '%s is the one authorization server document'],
  },
  {
    sections: 'MCP transport Earlier-Revisions',
    what: 'Sessions of the revisions up to 2025-11-25 exist only with tools that ask their client something; without them GET and DELETE are 405.',
    why: 'Nothing is to be kept for anybody then, and any instance can answer.',
    off: '`asksClient` in the module of tools.',
    test: ['server/mcp/sdk/sessions.test.ts', 'a session is needed for GET and DELETE: they are 405 without'],
  },
]
