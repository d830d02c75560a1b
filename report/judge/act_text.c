/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/act_text.h"

#include <string.h>

/** NULL fits anything; the first row that fits is taken. */
static const struct act_row {
	const char *code, *transport;
	enum part_kind kind;	/* PART_KINDS = any */
	const char *text;
} act_rows[] = {
	{ .transport = "sim", .kind = PART_KINDS,
	  .text = "nothing to repair: the cluster is a model; {again}" },
	{ .code = "agent_missing", .kind = PART_KINDS,
	  .text = "scontrol show node {node}; ssh {node} systemctl status "
		  "slurmd; look at job.out for what srun says of it" },
	{ .code = "ssh_unreachable", .kind = PART_KINDS,
	  .text = "ping -c 3 {node}; ssh {node} true" },
	{ .code = "ssh_host_key", .kind = PART_KINDS,
	  .text = "compare the fingerprint on its console (ssh-keygen -lf "
		  "/etc/ssh/ssh_host_ed25519_key.pub), then: ssh-keygen -R "
		  "{node}; ssh {node} true" },
	{ .code = "ssh_login", .kind = PART_KINDS,
	  .text = "ssh-copy-id {node}; ssh -oBatchMode=yes {node} true" },
	{ .code = "ssh_program", .kind = PART_KINDS,
	  .text = "without --ssh-path a copy is sent; ssh {node} 'findmnt -T "
		  "/tmp; uname -m'" },
	{ .code = "rank_missing", .kind = PART_KINDS,
	  .text = "what does its launcher (mpirun, torchrun, ...) say of it: was "
		  "it started, on a machine that is up, with the same run "
		  "directory or GPUCHECK_MASTER?" },
	{ .code = "agent_lost", .kind = PART_KINDS,
	  .text = "scontrol show node {node}; ssh {node} 'uptime; dmesg -T | "
		  "tail -50': did it reboot, run out of memory, lose its "
		  "network?" },
	{ .code = "worker_hung", .kind = PART_NODE,
	  .text = "ssh {node} 'uptime; ps -eo pid,stat,wchan,args | grep \" D\"; "
		  "dmesg -T | tail -50': is it overloaded, or does a driver "
		  "hang?" },
	{ .code = "gpu_missing", .kind = PART_NODE,
	  .text = "ssh {node} 'nvidia-smi -L; systemctl status "
		  "nvidia-persistenced; dmesg -T | grep -i nvrm'; scontrol "
		  "show node {node}" },
	{ .code = "gpu_missing", .kind = PART_KINDS,
	  .text = "ssh {node} 'nvidia-smi -L; dmesg -T | grep -i xid'; does "
		  "'scontrol show node {node}' count as many GPUs?" },
	{ .code = "gpu_shared", .kind = PART_KINDS,
	  .text = "start each process with a GPU of its own: srun "
		  "--gpus-per-task=1, or without CUDA_VISIBLE_DEVICES; are "
		  "there enough? ssh {node} nvidia-smi -L" },
	{ .code = "hca_missing", .kind = PART_KINDS,
	  .text = "ssh {node} 'ibstat; lspci | grep -i -e mellanox -e "
		  "infiniband; dmesg -T | grep -i mlx5': is the port down or "
		  "the HCA gone?" },
	{ .code = "memlock", .kind = PART_KINDS,
	  .text = "gpucheck memlock names the link that lowers the limit, and "
		  "the fix for it; in a job on {node}: ulimit -l" },
	{ .code = "device_permission", .kind = PART_KINDS,
	  .text = "in a job on {node}: ls -l /dev/infiniband; should be rw for "
		  "all; if it is, look at ConstrainDevices in cgroup.conf and "
		  "at the container's --device; gpucheck memlock" },
	{ .code = "device_missing", .kind = PART_KINDS,
	  .text = "in a job on {node}: ibv_devinfo; ls /dev/infiniband; lsmod "
		  "| grep ib_uverbs; dmesg -T | grep -i mlx5" },
	{ .code = "port_down", .kind = PART_KINDS,
	  .text = "ssh {node} 'ibstat; rdma link; dmesg -T | grep -i -e mlx5 "
		  "-e link': cable, transceiver, switch port, 'ip link'; "
		  "{again}" },
	{ .code = "gid_missing", .kind = PART_KINDS,
	  .text = "leave --gid-index and NCCL_IB_GID_INDEX out, or take an "
		  "index that all ports have: ssh {node} show_gids" },
	{ .code = "link_flapped", .kind = PART_KINDS,
	  .text = "ssh {node} 'dmesg -T | grep -i -e link -e mlx5': seat or "
		  "replace cable and transceiver, then the switch port; "
		  "{again}" },
	{ .code = "link_errors", .kind = PART_KINDS,
	  .text = "ssh {node} ibqueryerrors: clean, seat or replace cable and "
		  "transceiver; does the count go with the cable? {again}" },
	{ .code = "retransmits", .kind = PART_KINDS,
	  .text = "packets are lost on the way: ssh {node} 'ibqueryerrors; "
		  "ethtool -S' and the switch's drops; is PFC on at both? "
		  "{again}" },
	{ .code = "congestion", .kind = PART_KINDS,
	  .text = "look at the switch's queues and at who else sends; {again}" },
	{ .code = "pcie_downgraded", .kind = PART_KINDS,
	  .text = "ssh {node} 'lspci -vv | grep -e LnkCap -e LnkSta': seat the "
		  "card anew, another slot or riser; BIOS may cap the speed" },
	{ .code = "mtu_differs", .kind = PART_KINDS,
	  .text = "ssh {node} 'ibv_devinfo | grep mtu; ip link': RoCE takes "
		  "what fits the interface's MTU, 4200 for 4096; the switch "
		  "must carry it" },
	{ .code = "rate_differs", .kind = PART_KINDS,
	  .text = "ssh {node} ibstat: a lower rate or width than the others is "
		  "a cable, a transceiver or the switch port's setting" },
	{ .code = "wc_loc_prot", .kind = PART_KINDS,
	  .text = "ssh {node} 'lspci -vv | grep ACSCtl; cat /proc/cmdline': "
		  "ACS on the bridges off, iommu=pt; {again}" },
	{ .code = "wc_retry_exc", .transport = "verbs", .kind = PART_KINDS,
	  .text = "ssh {node} 'ibstat; ibqueryerrors; ip -s link': does ping "
		  "-I reach the other port, with its MTU? {again}" },
	{ .transport = "verbs", .kind = PART_INTRA_NODE,
	  .text = "rails that are not connected do not reach each other inside "
		  "a node either: gpucheck ib --pairs=rail; {again}" },
	{ .code = "slow", .transport = "verbs", .kind = PART_KINDS,
	  .text = "ssh {node} 'ibstat; lspci -vv | grep LnkSta; ibqueryerrors': "
		  "width and speed of link and PCIe, then errors; {again}" },
	{ .code = "open_failed", .kind = PART_KINDS,
	  .text = "ssh {node} 'nvidia-smi -i {index} -q; dmesg -T | grep -i "
		  "xid'; another process may hold the GPU" },
	{ .code = "nccl_missing", .kind = PART_KINDS,
	  .text = "install NCCL, or set GPUCHECK_NCCL_LIB to a libnccl.so.2; in "
		  "a job on {node}: gpucheck version" },
	{ .code = "cuda_missing", .kind = PART_KINDS,
	  .text = "install the GPU driver, or set GPUCHECK_CUDA_LIB to its "
		  "libcuda.so.1; in a job on {node}: gpucheck version; "
		  "--transport=tcp needs no GPU" },
	{ .code = "verbs_missing", .kind = PART_KINDS,
	  .text = "install libibverbs1 and ibverbs-providers, or set "
		  "GPUCHECK_VERBS_LIB; in a job on {node}: gpucheck version" },
	{ .code = "rank_retired", .kind = PART_KINDS,
	  .text = "ssh {node} 'dmesg -T | grep -i -e xid -e segfault; "
		  "nvidia-smi -i {index} -q'; read logs/ of the run" },
	{ .code = "if_down", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip -br link; dmesg -T | grep -i link': set the "
		  "interface up, or look at its cable and switch port; "
		  "{again}" },
	{ .code = "interface_missing", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip -br address; networkctl': give the interface "
		  "its address; {again}" },
	{ .code = "duplicate_address", .kind = PART_KINDS,
	  .text = "give each machine an address of its own; who has it: ssh "
		  "{node} 'ip -br address; ip neigh'; {again}" },
	{ .code = "neighbour_overflow", .kind = PART_KINDS,
	  .text = "sysctl net.ipv4.neigh.default.gc_thresh3 and "
		  "net.ipv6.neigh.default.gc_thresh3: more than there are "
		  "addresses in all segments; {again}" },
	{ .code = "mtu_small", .kind = PART_KINDS,
	  .text = "ip -d link on both ends, then the MTU of the switch ports "
		  "between them; {again} --df" },
	{ .code = "mtu_differs", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip -d link': one MTU for all of a segment; "
		  "gpucheck ping --df tells what really passes" },
	{ .code = "icmp_filtered", .kind = PART_KINDS,
	  .text = "ssh {node} nft list ruleset: let echo requests and replies "
		  "pass; gpucheck ping --method=udp does without" },
	{ .code = "wrong_reply", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip rule; ip route; nft list ruleset': NAT, or a "
		  "second machine? {again}" },
	{ .code = "arp_flux", .kind = PART_KINDS,
	  .text = "ssh {node} sysctl net.ipv4.conf.all.arp_ignore=1 "
		  "net.ipv4.conf.all.arp_announce=2, and a rule of 'ip rule' "
		  "for each interface; {again}" },
	{ .code = "foreign_mac", .kind = PART_KINDS,
	  .text = "ip neigh: a proxy or a bond is no fault; another machine "
		  "with the address is, and gpucheck ping --method=udp hears "
		  "only {node}" },
	{ .code = "wrong_interface", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip rule; ip route': each interface needs a rule "
		  "and a table of its own; {again}" },
	{ .code = "one_way", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip route; nft list ruleset; sysctl "
		  "net.ipv4.conf.all.rp_filter': what drops one direction? "
		  "{again}" },
	{ .code = "loss", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip -s link; ethtool -S INTERFACE | grep -e drop "
		  "-e err': a bad cable, a full queue, a flapping port? "
		  "{again} --count=100" },
	{ .code = "tcp_filtered", .kind = PART_KINDS,
	  .text = "a firewall drops it: ssh {node} nft list ruleset; ports of "
		  "net.ipv4.ip_local_port_range must be open between the "
		  "nodes; {again}" },
	{ .code = "data_corrupt", .kind = PART_KINDS,
	  .text = "data arrives changed: give the part no work until it is "
		  "found; ssh {node} nvidia-smi -q -d ECC; {again}" },
	{ .code = "gdr_one_end", .kind = PART_KINDS,
	  .text = "ssh {node} 'lsmod | grep -e nvidia_peermem -e ib_core; "
		  "nvidia-smi topo -m; env | grep NCCL_NET_GDR; cat "
		  "/etc/nccl.conf' and compare with the other end; {again}" },
	{ .code = "config_skew", .kind = PART_KINDS,
	  .text = "compare {node} with another node and set them up alike: "
		  "facts.csv has each fact and where it was read; then "
		  "{again}" },
	{ .code = "path_differs", .kind = PART_KINDS,
	  .text = "ssh {node} 'nvidia-smi topo -m; env | grep NCCL; cat "
		  "/etc/nccl.conf' and compare with a good node; {again}" },
	{ .code = "oversubscribed", .transport = "tcp", .kind = PART_KINDS,
	  .text = "ssh {node} 'nproc; uptime; ip -s link': do the ranks share "
		  "cores, or the nodes a link?" },
	{ .code = "oversubscribed", .kind = PART_KINDS,
	  .text = "count uplinks against ports of the leaf switches, and NICs "
		  "against GPUs (ssh {node} nvidia-smi topo -m): what is fewer "
		  "is shared; gpucheck p2p --contrast=schedule --pairs=rail" },
	{ .code = "gpu_memory_slow", .kind = PART_KINDS,
	  .text = "ssh {node} 'nvidia-smi topo -m': a GPU and its HCA belong "
		  "under one PCIe switch (PIX, PXB); ssh {node} 'lspci -vvv | "
		  "grep ACSCtl': SrcValid+ sends them through the CPU; {again}"
		  },
	{ .code = "pxn_needed", .kind = PART_KINDS,
	  .text = "leave NCCL_PXN_DISABLE unset for jobs; to connect the "
		  "rails, look at the routes between their subnets; {again}" },
	{ .code = "xid", .kind = PART_KINDS,
	  .text = "ssh {node} 'dmesg -T | grep -i xid' and look up the number "
		  "in the list of Xids; {again}" },
	{ .code = "ecc_errors", .kind = PART_KINDS,
	  .text = "ssh {node} nvidia-smi -i {index} -q -d ECC,ROW_REMAPPER: "
		  "give the GPU no work until it is reset or replaced; "
		  "{again}" },
	{ .code = "rows_remapped", .kind = PART_KINDS,
	  .text = "ssh {node} nvidia-smi -i {index} -q -d ROW_REMAPPER: a "
		  "pending row needs a reset of the GPU; {again}" },
	{ .code = "no_peer_access", .kind = PART_GPU,
	  .text = "ssh {node} 'nvidia-smi topo -p2p r; nvidia-smi -i {index} "
		  "-q | grep -i -A 2 -e mig -e fabric': MIG has no peer "
		  "access, and IOMMU or ACS may stop it; {again}" },
	{ .code = "no_nvlink", .kind = PART_GPU,
	  .text = "ssh {node} 'nvidia-smi nvlink -s -i {index}; nvidia-smi "
		  "topo -m; systemctl status nvidia-fabricmanager': are its "
		  "links up? {again}" },
	{ .code = "nvlink_down", .kind = PART_KINDS,
	  .text = "ssh {node} 'nvidia-smi nvlink -s -i {index}; dmesg -T | grep "
		  "-i xid; systemctl status nvidia-fabricmanager'; {again}" },
	{ .code = "nvlink_errors", .kind = PART_KINDS,
	  .text = "ssh {node} 'nvidia-smi nvlink -e -i {index}': on one link "
		  "only, seat or replace; {again}" },
	{ .code = "throttled", .kind = PART_KINDS,
	  .text = "ssh {node} nvidia-smi -i {index} -q -d "
		  "PERFORMANCE,TEMPERATURE: look at fans and air; {again}" },
	{ .kind = PART_SWITCH,
	  .text = "what its nodes share: the switch's ports, uplinks and log; "
		  "ssh {node} 'ibstat; ibqueryerrors; ibtracert' to a node of "
		  "another leaf; {again}" },
	{ .code = "slow", .transport = "tcp", .kind = PART_KINDS,
	  .text = "ssh {node} 'uptime; ip -s link'; is the machine or its "
		  "network busy with something else? {again}" },
	{ .code = "slow", .kind = PART_GPU,
	  .text = "ssh {node} 'nvidia-smi -i {index} -q -d "
		  "PERFORMANCE,CLOCK; nvidia-smi topo -m'; {again}" },
	{ .code = "slow", .kind = PART_KINDS,
	  .text = "ssh {node} 'ibstat; nvidia-smi topo -m'; compare rates and "
		  "widths with a good node; {again}" },
	{ .transport = "ping", .kind = PART_CROSS_RAIL,
	  .text = "no route between the segments: 'ip route' on two nodes; as "
		  "it is, NCCL needs NCCL_CROSS_NIC=0; {again} --cross" },
	{ .transport = "ping", .kind = PART_RAIL,
	  .text = "look at the switch and VLAN of that segment; 'ip -br link' "
		  "on two nodes; {again}" },
	{ .transport = "ping", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip -s link; ip route; ip neigh; nft list "
		  "ruleset': link, route or firewall? {again}" },
	{ .transport = "tcp", .kind = PART_KINDS,
	  .text = "ssh {node} 'ip -s link; ip route; nft list ruleset': link, "
		  "route or firewall? {again}" },
	{ .kind = PART_INTER_NODE,
	  .text = "ibstat and 'ip route' on two nodes; are firewall, partition "
		  "and NCCL_SOCKET_IFNAME right? gpucheck p2p "
		  "--transport=tcp; {again}" },
	{ .kind = PART_CROSS_RAIL,
	  .text = "try NCCL_CROSS_NIC=0: rails that are not connected; if they "
		  "should be, look at routes between the subnets of the rails; "
		  "{again}" },
	{ .kind = PART_RAIL,
	  .text = "look at the switch of rail {index}; ibstat on two nodes: is "
		  "port {index} Active everywhere? {again}" },
	{ .kind = PART_NODE,
	  .text = "scontrol update nodename={node} state=drain "
		  "reason=gpucheck; ssh {node} 'ibstat; nvidia-smi; dmesg -T | "
		  "tail -50'; {again}" },
	{ .kind = PART_INTRA_NODE,
	  .text = "ssh {node} 'systemctl status nvidia-fabricmanager; "
		  "nvidia-smi topo -m; nvidia-smi nvlink -s'; {again}" },
	{ .kind = PART_NODE_PAIR,
	  .text = "ssh {node} ping -c 3 {peer}; ibtracert between the two: a "
		  "link or route that only they use; {again}" },
	{ .kind = PART_NIC,
	  .text = "ssh {node} 'ibstat; ibqueryerrors; dmesg -T | grep -i "
		  "mlx5': cable, port state, then the switch port; {again}" },
	{ .kind = PART_GPU,
	  .text = "ssh {node} 'nvidia-smi -i {index} -q; dmesg -T | grep -i "
		  "xid; nvidia-smi nvlink -s -i {index}'; {again}" },
	{ .kind = PART_KINDS, .text = "{again}; read logs/ of the run" },
};

static bool act_fits(const struct act_row *a, const struct run *run,
		     const struct finding *f)
{
	return (!a->code || strcmp(a->code, f->code) == 0) &&
	       (!a->transport || strcmp(a->transport, run->transport) == 0 ||
		strcmp(a->transport, run->probe) == 0) &&
	       (a->kind == PART_KINDS || a->kind == f->part.kind);
}

const char *act_text(const struct run *run, const struct finding *f)
{
	const struct act_row *a = act_rows;

	while (!act_fits(a, run, f)) {
		a++;	/* the last row fits all */
	}
	return a->text;
}
