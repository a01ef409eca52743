// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/ucx.h"

#include <fmt/format.h>

#include "src/drivers/library.h"

#ifdef WEIR_HAS_UCX

#include <ucp/api/ucp.h>

#include <map>

#include "src/base/clock.h"

namespace weir::drivers {
namespace {

constexpr unsigned kMessage = 0;             // id of the active message
constexpr int64_t kCloseNs = 2'000'000'000;  // time for operations in flight when the worker is destroyed
constexpr int kMostEvents = 64;              // events handled in one progress()

struct UcxFunctions {
  decltype(ucp_init_version)* init;
  decltype(ucp_config_read)* config_read;
  decltype(ucp_config_release)* config_release;
  decltype(ucp_cleanup)* cleanup;
  decltype(ucp_worker_create)* worker_create;
  decltype(ucp_worker_destroy)* worker_destroy;
  decltype(ucp_worker_get_address)* worker_address;
  decltype(ucp_worker_release_address)* release_address;
  decltype(ucp_worker_progress)* worker_progress;
  decltype(ucp_worker_set_am_recv_handler)* set_handler;
  decltype(ucp_ep_create)* ep_create;
  decltype(ucp_ep_close_nbx)* ep_close;
  decltype(ucp_ep_flush_nbx)* ep_flush;
  decltype(ucp_am_send_nbx)* am_send;
  decltype(ucp_request_free)* request_free;
  decltype(ucp_request_check_status)* request_status;
  decltype(ucs_status_string)* status_text;

  bool load(const Library& ucp, const Library& ucs) {
    return ucp.find("ucp_init_version", init) && ucp.find("ucp_config_read", config_read) &&
           ucp.find("ucp_config_release", config_release) && ucp.find("ucp_cleanup", cleanup) &&
           ucp.find("ucp_worker_create", worker_create) && ucp.find("ucp_worker_destroy", worker_destroy) &&
           ucp.find("ucp_worker_get_address", worker_address) &&
           ucp.find("ucp_worker_release_address", release_address) &&
           ucp.find("ucp_worker_progress", worker_progress) &&
           ucp.find("ucp_worker_set_am_recv_handler", set_handler) && ucp.find("ucp_ep_create", ep_create) &&
           ucp.find("ucp_ep_close_nbx", ep_close) && ucp.find("ucp_ep_flush_nbx", ep_flush) &&
           ucp.find("ucp_am_send_nbx", am_send) && ucp.find("ucp_request_free", request_free) &&
           ucp.find("ucp_request_check_status", request_status) && ucs.find("ucs_status_string", status_text);
  }
};

/// The libraries stay loaded until the process ends, because UCX installs hooks that cannot be removed.
struct Libraries {
  Library ucs;
  Library ucp;
  UcxFunctions functions;
};

Result<const UcxFunctions*> ucx_functions() {
  static const Result<std::unique_ptr<Libraries>> loaded = []() -> Result<std::unique_ptr<Libraries>> {
    auto ucs = Library::open("libucs.so.0");
    WEIR_TRY(ucs.status());
    auto ucp = Library::open("libucp.so.0");
    WEIR_TRY(ucp.status());
    auto libraries = std::make_unique<Libraries>(Libraries{std::move(*ucs), std::move(*ucp), {}});
    if (!libraries->functions.load(libraries->ucp, libraries->ucs))
      return Status(Code::system_error,
                    "libucp.so.0 lacks functions that weir needs; expected UCX 1.13 or newer");
    return libraries;
  }();
  WEIR_TRY(loaded.status());
  return &(*loaded)->functions;
}

class Peer final : public UcxPeer {
 public:
  Peer(const UcxFunctions& functions, ucp_ep_h endpoint) : functions_(functions), endpoint_(endpoint) {}

  Status state() const override {
    if (failed_ == UCS_OK) return {};
    return Status(Code::remote_error,
                  fmt::format("UCX lost the connection: {}", functions_.status_text(failed_)));
  }
  ucp_ep_h endpoint() const { return endpoint_; }
  void fail(ucs_status_t status) { failed_ = status; }
  bool failed() const { return failed_ != UCS_OK; }

 private:
  const UcxFunctions& functions_;
  const ucp_ep_h endpoint_;
  ucs_status_t failed_ = UCS_OK;
};

/// The user data of one UCX request: a message or a flush.
struct Pending {
  const UcxFunctions* functions;
  std::shared_ptr<UcxOutgoing> keeper;

  void end(ucs_status_t status) const {
    --keeper->under_way;
    if (status != UCS_OK && keeper->trouble.ok())
      keeper->trouble = Status(Code::remote_error, fmt::format("UCX: {}", functions->status_text(status)));
  }
  static void ended(void* request, ucs_status_t status, void* user) {
    const std::unique_ptr<Pending> pending(static_cast<Pending*>(user));
    pending->end(status);
    pending->functions->request_free(request);
  }
};

class Worker final : public UcxWorker {
 public:
  Worker(const UcxFunctions& functions, Handler handler)
      : functions_(functions), handler_(std::move(handler)) {}
  ~Worker() override {
    if (worker_ != nullptr) {
      close_peers();
      functions_.worker_destroy(worker_);
    }
    if (context_ != nullptr) functions_.cleanup(context_);
  }

  Status begin() {
    ucp_config_t* config = nullptr;
    WEIR_TRY(said("read its configuration", functions_.config_read(nullptr, nullptr, &config)));
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM;
    const ucs_status_t made = functions_.init(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
    functions_.config_release(config);
    WEIR_TRY(said("start", made));
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    WEIR_TRY(said("create a worker", functions_.worker_create(context_, &worker, &worker_)));
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    handler.id = kMessage;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = &Worker::arrived;
    handler.arg = this;
    WEIR_TRY(said("register a message handler", functions_.set_handler(worker_, &handler)));
    ucp_address_t* address = nullptr;
    size_t size = 0;
    WEIR_TRY(said("return the address of its worker", functions_.worker_address(worker_, &address, &size)));
    const auto* raw = reinterpret_cast<const std::byte*>(address);
    address_.assign(raw, raw + size);
    functions_.release_address(worker_, address);
    return {};
  }

  const Bytes& address() const override { return address_; }

  Result<UcxPeer*> connect(BytesView address) override {
    std::unique_ptr<Peer>& peer =
        peers_[std::string(reinterpret_cast<const char*>(address.data()), address.size())];
    if (peer != nullptr && !peer->failed()) return peer.get();
    if (peer != nullptr) lost_.push_back(std::move(peer));
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = notices_ ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
    params.err_handler = {&Worker::lost, this};
    ucp_ep_h endpoint = nullptr;
    ucs_status_t made = functions_.ep_create(worker_, &params, &endpoint);
    if (made ==
        UCS_ERR_UNREACHABLE) {  // some UCX transports, mainly shared memory, cannot detect a dead peer
      params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
      made = functions_.ep_create(worker_, &params, &endpoint);
    }
    WEIR_TRY(said("connect", made));
    peer = std::make_unique<Peer>(functions_, endpoint);
    return peer.get();
  }

  void send(UcxPeer& peer, BytesView header, BytesView payload,
            const std::shared_ptr<UcxOutgoing>& keeper) override {
    begin(peer, keeper, [&](ucp_ep_h endpoint, ucp_request_param_t& param) {
      param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
      param.flags = UCP_AM_SEND_FLAG_EAGER;
      return functions_.am_send(endpoint, kMessage, header.data(), header.size(), payload.data(),
                                payload.size(), &param);
    });
  }

  void flush(UcxPeer& peer, const std::shared_ptr<UcxOutgoing>& keeper) override {
    begin(peer, keeper, [&](ucp_ep_h endpoint, ucp_request_param_t& param) {
      return functions_.ep_flush(endpoint, &param);
    });
  }

  void progress() override {
    for (int i = 0; i < kMostEvents && functions_.worker_progress(worker_) != 0; ++i) {
    }
  }

 private:
  Status said(const char* what, ucs_status_t status) const {
    if (status == UCS_OK) return {};
    const Code code = status == UCS_ERR_INVALID_ADDR || status == UCS_ERR_INVALID_PARAM
                          ? Code::invalid_argument
                          : Code::system_error;
    return Status(code, fmt::format("UCX cannot {}: {}", what, functions_.status_text(status)));
  }

  /// Calls start(endpoint, parameters) and arranges for the completion of the request.
  template <typename Start>
  void begin(UcxPeer& to, const std::shared_ptr<UcxOutgoing>& keeper, const Start& start) {
    auto& peer = static_cast<Peer&>(to);
    if (peer.failed()) {
      if (keeper->trouble.ok()) keeper->trouble = peer.state();
      return;
    }
    auto pending = std::make_unique<Pending>(Pending{&functions_, keeper});
    ++keeper->under_way;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = &Pending::ended;
    param.user_data = pending.get();
    const ucs_status_ptr_t request = start(peer.endpoint(), param);
    if (request == nullptr)
      pending->end(UCS_OK);
    else if (UCS_PTR_IS_ERR(request))
      pending->end(UCS_PTR_STATUS(request));
    else
      pending.release();  // ended() frees it
  }

  /// Completes what was sent, and closes the endpoints.
  void close_peers() {
    for (auto& [unused, peer] : peers_) lost_.push_back(std::move(peer));
    const int64_t until = now_ns() + kCloseNs;
    for (const std::unique_ptr<Peer>& peer : lost_) {
      ucp_request_param_t param{};
      param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      param.flags = peer->failed() ? UCP_EP_CLOSE_FLAG_FORCE : 0;
      const ucs_status_ptr_t request = functions_.ep_close(peer->endpoint(), &param);
      if (request == nullptr || UCS_PTR_IS_ERR(request)) continue;
      while (functions_.request_status(request) == UCS_INPROGRESS && now_ns() < until)
        functions_.worker_progress(worker_);
      functions_.request_free(request);
    }
  }

  static ucs_status_t arrived(void* self, const void* header, size_t header_bytes, void* data, size_t bytes,
                              const ucp_am_recv_param_t*) {
    static_cast<Worker*>(self)->handler_({static_cast<const std::byte*>(header), header_bytes},
                                         {static_cast<const std::byte*>(data), bytes});
    return UCS_OK;
  }

  static void lost(void* self, ucp_ep_h endpoint, ucs_status_t status) {
    for (const auto& [unused, peer] : static_cast<Worker*>(self)->peers_) {
      if (peer != nullptr && peer->endpoint() == endpoint) peer->fail(status);
    }
  }

  const UcxFunctions& functions_;
  const Handler handler_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  Bytes address_;
  bool notices_ = true;  // detects dead peers; not all UCX transports can, shared memory cannot
  std::map<std::string, std::unique_ptr<Peer>> peers_;  // keyed by address
  std::vector<std::unique_ptr<Peer>> lost_;
};

}  // namespace

Result<std::unique_ptr<UcxWorker>> make_ucx_worker(UcxWorker::Handler handler) {
  const auto found = ucx_functions();
  WEIR_TRY(found.status());
  auto worker = std::make_unique<Worker>(**found, std::move(handler));
  WEIR_TRY(worker->begin());
  return std::unique_ptr<UcxWorker>(std::move(worker));
}

}  // namespace weir::drivers

#else

namespace weir::drivers {

Result<std::unique_ptr<UcxWorker>> make_ucx_worker(UcxWorker::Handler) {
  return Status(
      Code::system_error,
      "this build of weir lacks UCX support: it was built without UCX's headers (Debian: libucx-dev)");
}

}  // namespace weir::drivers

#endif
