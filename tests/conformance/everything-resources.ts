import type { RegisterKit, ToolModule } from '../../server/mcp/tools/tool-module.ts'
import { pixel } from './media-sample.ts'

type McpServer = Parameters<NonNullable<ToolModule['register']>>[0]

/** Adds the resources that the suite uses. */
export function registerResources(server: McpServer, { ResourceTemplate }: RegisterKit): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'A text.', mimeType: 'text/plain' },
    ({ href }) => ({
      contents: [
        { uri: href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
      ],
    }),
  )
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'An image.', mimeType: 'image/png' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'image/png', blob: pixel }] }),
  )
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { description: 'A text that changes.', mimeType: 'text/plain' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'text/plain', text: 'Watched.' }] }),
  )
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'Data by id.', mimeType: 'application/json' },
    ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  )
}
