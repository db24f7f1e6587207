import type { RequirementRow } from '../requirement.ts'
import { e2e, http, mcp, shared, transport } from './proof.ts'

const suite = ['tests/conformance/server.test.ts', 'required scenarios through the gate'] as const

/** What travels on it: the base protocol and the tools. */
export const mcpBase: readonly RequirementRow[] = [
  [
    'Versioning',
    'The era of a message is seen from the message alone.',
    'shared/mcp-protocol.ts',
    shared('mcp-protocol', 'eraOfMessage (MCP 2026-07-28 basic: every request carries its protocol version)'),
  ],
  [
    'Versioning',
    'Unmodified clients of both eras are served on one address.',
    'server/mcp/endpoint.ts',
    e2e('sdk-2026', 'registers, signs in, lists and calls tools'),
  ],
  [
    'Discovery',
    '`server/discover` names versions, capabilities and, in its metadata, the server.',
    'server/mcp/sdk-server.ts',
    transport('MCP transport Discovery: names versions, capabilities and the server, for this caller alone'),
  ],
  [
    'Discovery',
    'What is announced is made good.',
    'server/mcp/sdk-server.ts',
    mcp('sdk-endpoint', 'is made good: without sessions there are no notices and no logs up to 2025-11-25'),
  ],
  [
    'Caching',
    'Lists and discovery say how long they may be kept, and by this caller alone.',
    'server/mcp/endpoint.ts',
    http('mcp', '2026-07-28: answers with JSON, a result type and private caching'),
  ],
  ['Caching', 'So do resources, templates and prompts.', 'server/mcp/sdk-server.ts', suite],
  [
    'Statelessness',
    'Nothing about a client is concluded from an earlier request.',
    'server/mcp/direct-route.ts',
    transport('MCP transport Statelessness: who the client is, is read from each request anew'),
  ],
  [
    'MRTR',
    'The state of a request that waits for input is sealed, and refused when it was changed.',
    'server/mcp/request-state.ts',
    mcp('request-state', 'is refused when it is %s'),
  ],
  [
    'MRTR',
    'It is good for its user, client and request alone.',
    'server/mcp/request-state.ts',
    mcp('request-state', 'is refused from %s'),
  ],
  [
    'MRTR',
    'It is good for ten minutes.',
    'server/mcp/request-state.ts',
    mcp('sdk-endpoint', 'refuses a state that is older than ten minutes'),
  ],
  [
    'MRTR',
    'A client is never asked for what it did not say it can do, and is asked again when an answer is missing.',
    'server/mcp/callback-guard.ts',
    suite,
  ],
  [
    'Subscriptions',
    'The acknowledgement comes first, then the notices that were asked for, each with the id of the request.',
    'server/mcp/open-streams.ts',
    mcp('sdk-endpoint', 'acknowledges first, then sends what was asked for, each with the id of the request'),
  ],
  [
    'Subscriptions',
    'A stream ends, with its result, when the grant or the token behind it has ended.',
    'server/mcp/open-streams.ts',
    mcp('sdk-endpoint', 'ends, with its result, within 15 seconds after %s'),
  ],
  [
    'Logging',
    'Log messages go to a request that asks for them, and to no other.',
    'server/mcp/sdk-server.ts',
    transport('MCP transport Logging: holds log messages for a request that asks for them alone'),
  ],
  [
    'Tools',
    'The list has one order, the same for everybody.',
    'server/mcp/endpoint.ts',
    transport('MCP transport Tools: the list is the same, in the same order, for every request and user'),
  ],
  [
    'Tools',
    'Arguments that do not fit their schema never reach the tool.',
    'server/mcp/tool.ts',
    mcp('tool', '%j never reaches it, and the model learns why'),
  ],
  [
    'Tools',
    'Structured results fit their schema.',
    'server/mcp/tool.ts',
    mcp('tool', 'structured content that %s its outputSchema'),
  ],
  [
    'Tools',
    'A schema that refers to another address is refused, and nothing is fetched for it.',
    'server/mcp/tool-schema.ts',
    mcp('tool', 'a reference to elsewhere'),
  ],
  [
    'Tools',
    'An unknown tool is an error of the protocol, bad arguments are an answer that the model can act on.',
    'server/mcp/tool.ts',
    http('mcp', 'an unknown tool and bad arguments say what to do'),
  ],
  [
    'Base-Protocol',
    'A failure in here is told without its cause.',
    'server/http/router.ts',
    http('router', 'a failure is 500 without a word about its cause, which goes to the log'),
  ],
  [
    'Base-Protocol',
    'What is answered without the SDK is what the SDK would answer, for good requests and bad ones.',
    'server/mcp/direct-route.ts',
    mcp('endpoint-difference', 'and that were requests good and bad, of both eras'),
  ],
]
