// Everything that the MCP conformance suite requests of a server by name, as a module for the TOOLS setting.
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod/v4'
import type { ModuleHost, ToolDeclaration, ToolModule } from '../../server/mcp/tools/tool-module.ts'
import { registerAskingTools } from './asking-tools.ts'
import { registerPrompts } from './everything-prompts.ts'
import { registerResources } from './everything-resources.ts'
import { pixel, silence } from './media-sample.ts'

type McpServer = Parameters<NonNullable<ToolModule['register']>>[0]

/** The loader requires it: sampling, elicitation and roots need sessions in the revisions up to 2025-11-25. */
export const asksClient = true

let host: ModuleHost | undefined

/** Keeps the host, which notifies clients of changes. */
export function start(given: ModuleHost): void {
  host = given
}

const text = (value: string): { content: [{ type: 'text'; text: string }] } => ({
  content: [{ type: 'text', text: value }],
})

/** The plain tools. */
export const tools: readonly ToolDeclaration[] = [
  {
    name: 'test_simple_text',
    description: 'Answers a text.',
    call: () => 'This is a simple text response for testing.',
  },
  {
    name: 'test_image_content',
    description: 'Answers an image.',
    call: () => ({ content: [{ type: 'image', data: pixel, mimeType: 'image/png' }] }),
  },
  {
    name: 'test_audio_content',
    description: 'Answers a sound.',
    call: () => ({ content: [{ type: 'audio', data: silence, mimeType: 'audio/wav' }] }),
  },
  {
    name: 'test_embedded_resource',
    description: 'Answers an embedded resource.',
    call: () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  },
  {
    name: 'test_multiple_content_types',
    description: 'Answers a text, an image and a resource.',
    call: () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: pixel, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: JSON.stringify({ test: 'data', value: 123 }),
          },
        },
      ],
    }),
  },
  {
    name: 'test_tool_with_logging',
    description: 'Sends three log lines while it runs.',
    async call(_input, { log }) {
      log('info', 'Tool execution started')
      await delay(50)
      log('info', 'Tool processing data')
      await delay(50)
      log('info', 'Tool execution completed')
      return 'Logged three lines.'
    },
  },
  {
    name: 'test_logging_tool',
    description: 'Sends a log line, if that is asked for.',
    call(_input, { log }) {
      log('info', 'A line for whoever wants it')
      return 'Logged one line, or none.'
    },
  },
  {
    name: 'test_tool_with_progress',
    description: 'Tells three times how far it is.',
    async call(_input, { progress }) {
      for (const done of [0, 50, 100]) {
        progress(done, 100, `Completed step ${done} of 100`)
        await delay(50)
      }
      return 'Went from 0 to 100.'
    },
  },
  {
    name: 'test_error_handling',
    description: 'Answers an error.',
    call: () => ({ isError: true, ...text('This tool intentionally returns an error for testing') }),
  },
  {
    name: 'test_trigger_tool_change',
    description: 'Tells clients that the list of tools has changed.',
    call() {
      host?.notify.toolsChanged()
      return 'Told.'
    },
  },
  {
    name: 'test_trigger_prompt_change',
    description: 'Tells clients that the list of prompts has changed.',
    call() {
      host?.notify.promptsChanged()
      return 'Told.'
    },
  },
  {
    name: 'test_trigger_resource_update',
    description: 'Tells clients that the watched resource has changed.',
    call() {
      host?.notify.resourceUpdated('test://watched-resource')
      return 'Told.'
    },
  },
  {
    name: 'test_header_parameter',
    description: 'Takes an argument that is repeated in a header.',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
    call: (input) => `Region ${(input as { region: string }).region}.`,
  },
  {
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    call: (input) => JSON.stringify(input),
  },
]

/** Registers everything but the plain tools. */
export const register: NonNullable<ToolModule['register']> = (server, _context, sdk) => {
  server.server.registerCapabilities({ resources: { subscribe: true } })
  registerPrompts(server, sdk)
  registerResources(server, sdk)
  registerAskingTools(server, sdk)
  registerReconnection(server)
}

/** Breaks its stream off in the middle: the client must reconnect for the rest. */
function registerReconnection(server: McpServer): void {
  server.registerTool(
    'test_reconnection',
    { description: 'Closes the stream while it runs.', inputSchema: z.object({}) },
    async (_input, { http }) => {
      http?.closeSSE?.()
      await delay(100)
      return text('Reconnection test completed')
    },
  )
}
