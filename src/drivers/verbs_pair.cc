// SPDX-License-Identifier: Apache-2.0

#ifdef WEIR_HAS_VERBS

#include <algorithm>
#include <array>
#include <cstring>

#include "src/drivers/verbs_device.h"

namespace weir::drivers {
namespace {

constexpr uint8_t kMostHops = 255;
constexpr uint8_t kRetryForEver = 7;  // retries without limit if the peer has no receive posted
constexpr uint8_t kRetryAfter = 12;   // 0.64 ms, the time between those retries
constexpr size_t kBatch = 16;         // receives posted with one call

ibv_mtu mtu_code(uint32_t bytes) {
  return bytes >= 4096   ? IBV_MTU_4096
         : bytes >= 2048 ? IBV_MTU_2048
         : bytes >= 1024 ? IBV_MTU_1024
         : bytes >= 512  ? IBV_MTU_512
                         : IBV_MTU_256;
}

class Pair final : public VerbsPair {
 public:
  Pair(const VerbsTable& table, std::string device, const VerbsPairSpec& spec, VerbsOwned<ibv_cq> queue,
       VerbsOwned<ibv_qp> pair, uint32_t inline_bytes, VerbsPacing pacing)
      : table_(table),
        device_(std::move(device)),
        spec_(spec),
        queue_(std::move(queue)),
        pair_(std::move(pair)),
        inline_bytes_(inline_bytes),
        pacing_(pacing) {}

  uint32_t number() const override { return pair_->qp_num; }
  uint32_t inline_bytes() const override { return inline_bytes_; }

  /// Moves the pair from reset to the state in which receives can be posted.
  Status begin() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = spec_.pkey_index;
    attributes.port_num = spec_.port;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    WEIR_TRY(modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                    "prepare a queue pair"));
    return receive(spec_.receives);
  }

  Status connect(const VerbsPath& to) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = mtu_code(to.mtu);
    attributes.dest_qp_num = to.pair;
    attributes.rq_psn = to.first;
    attributes.max_dest_rd_atomic = 0;
    attributes.min_rnr_timer = kRetryAfter;
    attributes.ah_attr.dlid = to.lid;
    attributes.ah_attr.sl = spec_.service_level;
    attributes.ah_attr.port_num = spec_.port;
    if (spec_.global) {
      attributes.ah_attr.is_global = 1;
      std::memcpy(attributes.ah_attr.grh.dgid.raw, to.gid.data(), to.gid.size());
      attributes.ah_attr.grh.sgid_index = static_cast<uint8_t>(spec_.gid_index);
      attributes.ah_attr.grh.hop_limit = kMostHops;
      attributes.ah_attr.grh.traffic_class = spec_.traffic_class;
    }
    WEIR_TRY(modify(attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                    "connect a queue pair to its peer"));
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = spec_.timeout;
    attributes.retry_cnt = spec_.retries;
    attributes.rnr_retry = kRetryForEver;
    attributes.sq_psn = spec_.first;
    return modify(attributes,
                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  "enable sending on a queue pair");
  }

  Status post(const VerbsWrite* write, uint32_t immediate, uint64_t id) override {
    ibv_sge piece{};
    ibv_send_wr request{};
    request.wr_id = id;
    request.imm_data = immediate;
    request.send_flags = IBV_SEND_SIGNALED;
    request.opcode = IBV_WR_SEND_WITH_IMM;
    if (write != nullptr) {
      piece = {reinterpret_cast<uintptr_t>(write->from), write->bytes, write->local_key};
      request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      request.sg_list = &piece;
      request.num_sge = 1;
      request.wr.rdma.remote_addr = write->to;
      request.wr.rdma.rkey = write->remote_key;
      if (write->bytes <= inline_bytes_) request.send_flags |= IBV_SEND_INLINE;
    }
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(pair_.get(), &request, &bad);
    return error == 0 ? Status() : verbs_error(device_, "accept a send request", error);
  }

  Result<size_t> poll(std::span<VerbsCompletion> into) override {
    WEIR_TRY(broken_);
    std::array<ibv_wc, kBatch> done;
    const int most = static_cast<int>(std::min(into.size(), done.size()));
    const int count = ibv_poll_cq(queue_.get(), most, done.data());
    if (count < 0) return verbs_error(device_, "poll a completion queue", errno);
    uint32_t received = 0;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const ibv_wc& each = done[i];
      into[i].received = each.wr_id == kReceiveId;
      into[i].id = each.wr_id;
      into[i].immediate = each.status == IBV_WC_SUCCESS ? each.imm_data : 0;
      into[i].error = each.status == IBV_WC_SUCCESS ? "" : table_.wc_status_str(each.status);
      received += into[i].received && each.status == IBV_WC_SUCCESS ? 1 : 0;
    }
    // The completions are valid even if no receives can be posted; the next poll returns that error.
    if (broken_.ok()) broken_ = receive(received);
    return static_cast<size_t>(count);
  }

  Status set_rate(double bytes_per_s) override {
    const Result<uint32_t> rate = pacing_.rate_for(bytes_per_s, device_);
    WEIR_TRY(rate.status());
    if (*rate == rate_) return {};
    ibv_qp_rate_limit_attr attributes{};
    attributes.rate_limit = *rate;
    if (const int error = ibv_modify_qp_rate_limit(pair_.get(), &attributes); error != 0)
      return verbs_error(device_, "pace a queue pair", error);
    rate_ = *rate;
    return {};
  }

  void halt() override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    table_.modify_qp(pair_.get(), &attributes,
                     IBV_QP_STATE);  // this fails if the device is gone, which then has stopped anyway
  }

 private:
  static constexpr uint64_t kReceiveId = UINT64_MAX;

  Status modify(ibv_qp_attr& attributes, int mask, const char* what) {
    const int error = table_.modify_qp(pair_.get(), &attributes, mask);
    return error == 0 ? Status() : verbs_error(device_, what, error);
  }

  /// Posts receives for `count` more messages.
  Status receive(uint32_t count) {
    std::array<ibv_recv_wr, kBatch> requests{};
    while (count > 0) {
      const uint32_t batch = std::min<uint32_t>(count, kBatch);
      for (uint32_t i = 0; i < batch; ++i) {
        requests[i].wr_id = kReceiveId;
        requests[i].next = i + 1 < batch ? &requests[i + 1] : nullptr;
      }
      ibv_recv_wr* bad = nullptr;
      if (const int error = ibv_post_recv(pair_.get(), requests.data(), &bad); error != 0)
        return verbs_error(device_, "post receive requests", error);
      count -= batch;
    }
    return {};
  }

  const VerbsTable& table_;
  const std::string device_;
  const VerbsPairSpec spec_;
  const VerbsOwned<ibv_cq> queue_;
  const VerbsOwned<ibv_qp> pair_;
  const uint32_t inline_bytes_;
  const VerbsPacing pacing_;
  uint32_t rate_ = 0;  // current rate in kbit/s; 0: no limit
  Status broken_;
};

}  // namespace

Result<std::unique_ptr<VerbsPair>> make_verbs_pair(const VerbsTable& table, const std::string& device,
                                                   ibv_context& context, ibv_pd& domain,
                                                   const VerbsPairSpec& spec, VerbsPacing pacing) {
  VerbsOwned<ibv_cq> queue(
      table.create_cq(&context, static_cast<int>(spec.sends + spec.receives), nullptr, nullptr, 0), {&table});
  if (queue == nullptr) return verbs_error(device, "create a completion queue", errno);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = spec.sends;
  attributes.cap.max_recv_wr = spec.receives;
  attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
  attributes.cap.max_inline_data = spec.inline_bytes;
  VerbsOwned<ibv_qp> pair(table.create_qp(&domain, &attributes), {&table});
  if (pair == nullptr &&
      spec.inline_bytes >
          0) {  // some devices refuse an inline size that they do not support, instead of granting less
    attributes.cap.max_inline_data = 0;
    pair.reset(table.create_qp(&domain, &attributes));
  }
  if (pair == nullptr) return verbs_error(device, "create a queue pair", errno);
  auto made = std::make_unique<Pair>(table, device, spec, std::move(queue), std::move(pair),
                                     std::min(attributes.cap.max_inline_data, spec.inline_bytes), pacing);
  WEIR_TRY(made->begin());
  return std::unique_ptr<VerbsPair>(std::move(made));
}

}  // namespace weir::drivers

#endif
