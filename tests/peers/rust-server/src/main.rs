// A server of the official Rust SDK for the tests of the gateway, at every path of the port in its first
// argument. It does not authenticate callers.
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
};

#[derive(Clone)]
struct Hours;

fn text_of(name: &str) -> Option<&'static str> {
    match name {
        "opening_hours" => Some("Open from 9 to 5."),
        "delete_everything" => Some("Deleted everything."),
        _ => None,
    }
}

impl ServerHandler for Hours {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema: JsonObject = [("type".to_owned(), "object".into())].into_iter().collect();
        let tool = |name: &'static str| Tool::new(name, "For the tests", schema.clone());
        Ok(ListToolsResult::with_all_items(vec![tool("opening_hours"), tool("delete_everything")]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match text_of(&request.name) {
            Some(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            None => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let service: StreamableHttpService<Hours, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Hours), Default::default(), Default::default());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("listens");
    loop {
        let (socket, _) = listener.accept().await.expect("accepts");
        let connection = http1::Builder::new()
            .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service.clone()));
        tokio::spawn(connection);
    }
}
